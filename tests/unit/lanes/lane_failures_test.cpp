#include "lanes/shape/lane_failures.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace esper::test::lane_failures_test {

using namespace esper;
using Cause = lanes::Rejection::Cause;

TEST_CASE("a program that is refused for a sensitive step failed a check, and is not quarantined") {
  std::vector<leyline::TelemetryEvent> events;
  lanes::LaneServices services;  // without a cache: a quarantine would need one
  services.emit = [&](leyline::TelemetryEvent event) { events.push_back(std::move(event)); };
  lanes::LaneFigures figures;
  lanes::LaneFailures failures(services, figures);
  const program::Difference difference{.tensor = "host.head.bias", .difference = 0.5, .tolerance = 0.001};
  failures.reject(config::Lane::kCompiled, "key", {Cause::kSensitive, "it is sensitive", difference});
  failures.reject(config::Lane::kCompiled, "key", {Cause::kNotFaster, "it was not faster", {}});
  CHECK(figures.refusals == 2);
  CHECK(figures.checks_failed == 1);
  CHECK(figures.quarantined == 0);
  REQUIRE(events.size() == 2);
  CHECK(events.front().level == leyline::Level::kWarning);
  CHECK(events.front().attributes.at("tensor") == "host.head.bias");
  CHECK(events.back().level == leyline::Level::kInfo);
}

}  // namespace esper::test::lane_failures_test
