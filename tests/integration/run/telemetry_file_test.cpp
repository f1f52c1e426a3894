#include <catch2/catch_test_macros.hpp>
#include <set>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::telemetry_file_test {

using namespace esper::test;
using nlohmann::json;

namespace {

void check_packet(const json& packet) {
  CAPTURE(packet.dump());
  for (const char* key : {"packet_id", "timestamp", "source_subsystem", "level"}) CHECK(packet[key].is_string());
  REQUIRE(packet["metrics"].is_array());
  REQUIRE(packet["events"].is_array());
  for (const auto& metric : packet["metrics"]) {
    CHECK(metric["name"].is_string());
    CHECK(metric["value"].is_number());
    CHECK(metric["unit"].is_string());
    CHECK(metric["attributes"].is_object());
  }
  for (const auto& event : packet["events"]) {
    for (const char* key : {"event_id", "description", "level"}) CHECK(event[key].is_string());
    CHECK(event["attributes"].is_object());
  }
  CHECK(packet["system_health"]["status"].is_string());
  CHECK(packet["system_health"]["summary"].is_string());
  CHECK(packet["system_health"]["indicators"].is_object());
}

}  // namespace

TEST_CASE("telemetry is one packet a line and tells the whole life of a seed") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run")).exit_code == 0);
  std::set<std::string> ids;
  std::size_t epochs = 0;
  for (const auto& packet : packets_of(room.run("run"))) {
    check_packet(packet);
    CHECK(ids.insert(packet["packet_id"]).second);
    for (const auto& metric : packet["metrics"]) epochs += metric["name"] == "tolaria.training.loss" ? 1 : 0;
  }
  CHECK(epochs == 24);
  CHECK(events_of(room.run("run"), "tamiyo.decision").size() == 24);

  const auto summary = read_json(room.run("run") / "summary.json");
  for (const auto& seed : summary["seeds"]) {
    const auto id = seed["seed_id"].get<std::string>();
    CAPTURE(id);
    std::string gates, stages;
    for (const auto& event : events_of(room.run("run"), "gate_event")) {
      const auto& facts = event["attributes"];
      if (facts["seed_id"] != id) continue;
      gates += facts["gate"].get<std::string>() + " ";
      if (facts["gate"] == "G5") CHECK(facts["measured"].get<std::string>().find("contribution") != std::string::npos);
    }
    for (const auto& event : events_of(room.run("run"), "seed_stage")) {
      if (event["attributes"]["seed_id"] == id) stages += event["attributes"]["to"].get<std::string>() + " ";
    }
    CHECK(gates == "G0 G1 G2 G3 G4 G5 ");
    CHECK(stages == "GERMINATED TRAINING BLENDING SHADOWING PROBATIONARY FOSSILIZED ");
  }
}

}  // namespace esper::test::telemetry_file_test
