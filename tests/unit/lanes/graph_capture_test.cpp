// Captures that fail: reported, and given up after two of them. The failure is a fault point, so no card is needed.

#include "lanes/lane/graph_capture.h"

#include <catch2/catch_test_macros.hpp>
#include <utility>
#include <vector>

#include "support/faults/armed_fault.h"

namespace esper::test::graph_capture_test {

using namespace esper;

TEST_CASE("two failed captures turn graphs off until the network has another structure") {
  const torch::Device gpu(torch::kCUDA, 0);
  std::vector<leyline::TelemetryEvent> events;
  lanes::GraphCapture capture("validation", 0,
                              [&](leyline::TelemetryEvent event) { events.push_back(std::move(event)); });
  const auto fails = [&] { return !capture.capture(gpu, [] {}); };
  CHECK(capture.may(gpu));
  CHECK_FALSE(capture.may(torch::kCPU));
  const ArmedFault fault("lanes.capture", 1, 3);
  CHECK(fails());
  CHECK(capture.may(gpu));
  REQUIRE(events.size() == 1);
  CHECK(events[0].description == "tolaria.graph_fallback");
  CHECK(events[0].attributes.at("of") == "validation");
  CHECK(fails());
  CHECK_FALSE(capture.may(gpu));
  REQUIRE(events.size() == 3);
  CHECK(events[2].description == "tolaria.graph_disabled_after_failures");
  CHECK(events[2].attributes.at("failures") == "2");
  capture.forget_failures();
  CHECK(capture.may(gpu));
  CHECK(fails());
  CHECK(capture.may(gpu));
  CHECK(capture.figures().failures == 3);
}

}  // namespace esper::test::graph_capture_test
