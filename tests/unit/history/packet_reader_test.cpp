#include "history/telemetry/packet_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"

namespace esper::test::packet_reader_test {

using namespace esper;
using namespace esper::leyline::literals;
using nlohmann::json;

TEST_CASE("a packet comes back from its line as it was") {
  leyline::TelemetryPacket packet;
  packet.packet_id = "p";
  packet.timestamp = "t";
  packet.source_subsystem = "tolaria";
  packet.level = leyline::Level::kWarning;
  packet.metrics.push_back(leyline::metric("tolaria.training.loss"_metric, 0.1));
  packet.events.push_back(leyline::event("tolaria.early_stop"_event, leyline::Level::kWarning, {{"epoch", "3"}}));
  packet.system_health = {leyline::Health::kDegraded, "slow", {{"epoch", "3"}}};
  std::string line, again;
  nissa::append_json_line(packet, line);
  nissa::append_json_line(history::packet_from(json::parse(line)), again);
  CHECK(again == line);
}

TEST_CASE("what is not known, or has another type, is left out") {
  const auto packet = history::packet_from(json::parse(
      R"({"packet_id": 3, "metrics": [{"name": "no.such", "value": 1}, {"name": "tolaria.training.loss", "value": null},
          7, {}], "events": {"description": 4}, "level": "LOUD", "system_health": []})"));
  CHECK(packet.packet_id.empty());
  CHECK(packet.metrics.empty());
  CHECK(packet.events.empty());
  CHECK(history::packet_from(json::array()).metrics.empty());
  CHECK(history::packet_from(nullptr).events.empty());
}

}  // namespace esper::test::packet_reader_test
