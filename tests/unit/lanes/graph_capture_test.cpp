// Captures that fail: reported, and given up after two of them, or six that lacked memory. The failure is a fault
// point, so no GPU is needed.

#include "lanes/lane/graph_capture.h"

#include <catch2/catch_test_macros.hpp>
#include <utility>
#include <vector>

#include "support/faults/armed_fault.h"

namespace esper::test::graph_capture_test {

using namespace esper;

namespace {

struct Captures {
  torch::Device gpu = torch::Device(torch::kCUDA, 0);
  std::vector<leyline::TelemetryEvent> events;
  lanes::GraphCapture capture = lanes::GraphCapture(
      "validation", 0, [this](leyline::TelemetryEvent event) { events.push_back(std::move(event)); });

  bool fails() {
    return capture.capture(gpu, [] {}) == nullptr;
  }
  bool may_capture() const { return capture.may(gpu); }
};

}  // namespace

TEST_CASE("two failed captures turn graphs off until the network has another structure") {
  Captures it;
  CHECK(it.may_capture());
  CHECK_FALSE(it.capture.may(torch::kCPU));
  const ArmedFault fault("lanes.capture", 1, 3);
  CHECK(it.fails());
  CHECK(it.may_capture());
  REQUIRE(it.events.size() == 1);
  CHECK(it.events[0].description == "tolaria.graph_fallback");
  CHECK(it.events[0].attributes.at("of") == "validation");
  CHECK(it.fails());
  CHECK_FALSE(it.may_capture());
  REQUIRE(it.events.size() == 3);
  CHECK(it.events[2].description == "tolaria.graph_disabled_after_failures");
  CHECK(it.events[2].attributes.at("failures") == "2");
  it.capture.forget_failures();
  CHECK(it.may_capture());
  CHECK(it.fails());
  CHECK(it.may_capture());
  CHECK(it.capture.figures().failures == 3);
}

TEST_CASE("captures that lack memory turn graphs off at the sixth, whatever else failed") {
  Captures it;
  {
    const ArmedFault fault("lanes.capture");
    REQUIRE(it.fails());
  }
  const ArmedFault fault("lanes.capture_memory", 1, 7);
  for (int lacks = 1; lacks <= 5; ++lacks) {
    REQUIRE(it.fails());
    REQUIRE(it.may_capture());
  }
  REQUIRE(it.events.size() == 6);
  CHECK(it.events.back().description == "tolaria.graph_fallback");
  CHECK(it.events.back().attributes.at("message") == "CUDA out of memory");
  CHECK(it.fails());
  CHECK_FALSE(it.may_capture());
  REQUIRE(it.events.size() == 8);
  CHECK(it.events.back().description == "tolaria.graph_disabled_after_failures");
  CHECK(it.events.back().attributes.at("failures") == "7");
  it.capture.forget_failures();
  CHECK(it.may_capture());
  CHECK(it.fails());
  CHECK(it.may_capture());
  CHECK(it.capture.figures().failures == 8);
}

}  // namespace esper::test::graph_capture_test
