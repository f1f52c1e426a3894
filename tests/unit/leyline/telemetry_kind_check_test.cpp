// What every run of the tests is held against (support/kind_check.h) finds what it is there for.
#include <catch2/catch_test_macros.hpp>

#include "support/kind_check.h"

namespace esper::test::telemetry_kind_check_test {

using namespace esper;
using namespace leyline::literals;

namespace {

leyline::TelemetryPacket packet_of(leyline::MetricValue metric) {
  leyline::TelemetryPacket packet;
  packet.metrics.push_back(std::move(metric));
  return packet;
}

}  // namespace

TEST_CASE("a counter may not fall, for each set of its labels, and counts whole things") {
  test::KindCheck kinds;
  const auto steps = [&](double value) {
    return kinds.take(packet_of(leyline::metric("tolaria.training.steps_total"_metric, value)));
  };
  CHECK(steps(5) == "");
  CHECK(steps(5) == "");
  CHECK(steps(4).find("a counter that falls from 5") != std::string::npos);
  CHECK(steps(5.5).find("counts to 5.5") != std::string::npos);
  const auto lane = [&](const char* name, double value) {
    return kinds.take(packet_of(leyline::metric("tolaria.step.lane_steps_total"_metric, value, {{"lane", name}})));
  };
  CHECK(lane("eager", 9) == "");
  CHECK(lane("replay", 3) == "");
  CHECK(lane("eager", 8) != "");
}

TEST_CASE("gauges may fall; a name, a unit or a label that the table does not have, and a bool of 2, are told") {
  test::KindCheck kinds;
  CHECK(kinds.take(packet_of(leyline::metric("tolaria.seeds.active"_metric, 3))) == "");
  CHECK(kinds.take(packet_of(leyline::metric("tolaria.seeds.active"_metric, 1))) == "");
  auto metric = leyline::metric("tolaria.seeds.active"_metric, 1);
  metric.unit = "ms";
  CHECK(kinds.take(packet_of(metric)) != "");
  metric = leyline::metric("tolaria.seeds.active"_metric, 1);
  metric.attributes.emplace("colour", "red");
  CHECK(kinds.take(packet_of(metric)) != "");
  metric.name = "tolaria.seeds";
  CHECK(kinds.take(packet_of(metric)) != "");
  metric.name = "tolaria.early_stop";  // an event
  CHECK(kinds.take(packet_of(metric)) != "");
  CHECK(kinds.take(packet_of(leyline::metric("tolaria.mode.conservative"_metric, 2))) != "");
}

TEST_CASE("an attribute that the table does not have for its event is reported") {
  test::KindCheck kinds;
  leyline::TelemetryPacket packet;
  packet.events.push_back(leyline::event("tolaria.early_stop"_event, leyline::Level::kInfo, {{"epoch", "3"}}));
  CHECK(kinds.take(packet) == "");
  packet.events[0].attributes["epoc"] = "3";
  CHECK(kinds.take(packet) == "tolaria.early_stop has the label epoc");
}

}  // namespace esper::test::telemetry_kind_check_test
