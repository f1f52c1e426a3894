#include "leyline/telemetry/telemetry.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::telemetry_test {

using namespace esper::leyline;
using namespace esper::leyline::literals;

namespace {

template <TelemetryName kName>
concept IsMetric = requires { literals::operator""_metric < kName>(); };
template <TelemetryName kName>
concept IsEvent = requires { literals::operator""_event < kName>(); };

}  // namespace

TEST_CASE("a name resolves only as what it is in the table") {
  STATIC_REQUIRE(IsMetric<"tolaria.training.loss">);
  STATIC_REQUIRE(!IsMetric<"tolaria.training.los">);
  STATIC_REQUIRE(!IsMetric<"tolaria.training.loss ">);
  STATIC_REQUIRE(!IsMetric<"">);
  STATIC_REQUIRE(!IsEvent<"tolaria.training.loss">);
  STATIC_REQUIRE(IsEvent<"tolaria.compile_fallback">);
  STATIC_REQUIRE(!IsMetric<"tolaria.compile_fallback">);
  STATIC_REQUIRE(!IsEvent<"tolaria.compile_fallbac">);
}

TEST_CASE("one name can be a metric and an event, the metric first") {
  constexpr TelemetryEntry kMetric{"halt", TelemetryKind::kGauge, "bool", "help", ""};
  constexpr TelemetryEntry kEvent{"halt", TelemetryKind::kEvent, "event", "help", ""};
  STATIC_REQUIRE(telemetry_rows::in_order(kMetric, kEvent));
  STATIC_REQUIRE(!telemetry_rows::in_order(kEvent, kMetric));
  STATIC_REQUIRE(!telemetry_rows::in_order(kMetric, kMetric));
}

TEST_CASE("each row of the table is found under its own name") {
  for (std::size_t row = 0; row < kTelemetryTable.size(); ++row) {
    const auto& entry = kTelemetryTable[row];
    INFO(entry.name);
    CHECK((entry.kind == TelemetryKind::kEvent ? find_event(entry.name) : find_metric(entry.name)) == row);
  }
}

TEST_CASE("labels are matched as whole words") {
  constexpr TelemetryEntry kEntry{"x", TelemetryKind::kEvent, "event", "help", "seed_id stage"};
  STATIC_REQUIRE(allows_label(kEntry, "seed_id"));
  STATIC_REQUIRE(allows_label(kEntry, "stage"));
  STATIC_REQUIRE(!allows_label(kEntry, "seed"));
  STATIC_REQUIRE(!allows_label(kEntry, "tage"));
  STATIC_REQUIRE(!allows_label(kEntry, "seed_id stage"));
  STATIC_REQUIRE(!allows_label(kEntry, ""));
}

TEST_CASE("a metric and an event carry name, unit and attributes") {
  const auto alpha = metric("kasmina.seed.alpha"_metric, 0.5, {{"seed_id", "seed-0001"}, {"stage", "BLENDING"}});
  CHECK(alpha.name == "kasmina.seed.alpha");
  CHECK(alpha.unit == "ratio");
  CHECK(alpha.value == 0.5);
  CHECK(alpha.attributes == Attributes{{"seed_id", "seed-0001"}, {"stage", "BLENDING"}});

  const auto stop = event("tolaria.early_stop"_event, Level::kInfo, {{"epoch", "7"}});
  CHECK(stop.description == "tolaria.early_stop");
  CHECK(stop.attributes == Attributes{{"epoch", "7"}});
}

TEST_CASE("a metric is found again in its packet") {
  TelemetryPacket packet;
  CHECK(!value_of(packet, "tolaria.training.loss"_metric));
  packet.metrics.push_back(metric("tolaria.training.loss"_metric, 2.5));
  CHECK(value_of(packet, "tolaria.training.loss"_metric) == 2.5);
  CHECK(!value_of(packet, "tolaria.validation.loss"_metric));
}

TEST_CASE("a packet without warnings is healthy") {
  TelemetryPacket packet;
  packet.events.push_back(event("tolaria.run_started"_event, Level::kInfo));
  packet.events.push_back(event("seed_stage"_event, Level::kInfo));
  packet.system_health.indicators["seed_id"] = "seed-0001";
  finish_packet(packet, 4);
  CHECK(packet.level == Level::kInfo);
  CHECK(packet.events[0].event_id == "evt-0");
  CHECK(packet.events[1].event_id == "evt-1");
  CHECK(packet.system_health.status == Health::kHealthy);
  CHECK(packet.system_health.summary == "nominal");
  CHECK(packet.system_health.indicators ==
        Attributes{{"epoch", "4"}, {"priority", "MESSAGE_PRIORITY_NORMAL"}, {"seed_id", "seed-0001"}});
}

TEST_CASE("the first warning decides over health, the gravest event over the level") {
  TelemetryPacket packet;
  packet.events.push_back(event("seed_stage"_event, Level::kInfo));
  packet.events.push_back(event("gate_failure"_event, Level::kWarning));
  packet.events.push_back(event("tolaria.rollback.restore_failed"_event, Level::kCritical));
  finish_packet(packet, 1);
  CHECK(packet.level == Level::kCritical);
  CHECK(packet.system_health.status == Health::kDegraded);
  CHECK(packet.system_health.summary == "gate_failure");
  CHECK(packet.system_health.indicators.at("priority") == "MESSAGE_PRIORITY_HIGH");
}

}  // namespace esper::test::telemetry_test
