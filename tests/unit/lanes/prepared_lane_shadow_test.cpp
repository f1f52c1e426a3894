// Steps in which seeds train in the shadow of the network, in replay.

#include <catch2/catch_test_macros.hpp>

#include "lanes/prepared_lane.h"
#include "support/call_counter.h"
#include "support/models/lane_steps.h"
#include "support/models/training_model.h"

namespace esper::tests::prepared_lane_shadow_test {
namespace {

using config::Lane;
using test::CallCounter;

void check_same_steps(const LaneCase& c, int accumulation) {
  const auto a = training_model(c, 2), b = training_model(c, 2);
  const auto example = make_batches(c, accumulation);
  const auto eager = lanes::prepare_lane(*a, Lane::kEager, example, nullptr);
  const auto replay = lanes::prepare_lane(*b, Lane::kReplay, example, nullptr);
  INFO(c.name << ", accumulation " << accumulation << ": " << replay.refusal);
  REQUIRE(replay.refusal.empty());
  for (std::uint64_t step = 0; step < 5; ++step) {
    const auto batches = make_batches(c, accumulation, step + 10);
    for (const auto* lane : {&eager, &replay}) {
      at::manual_seed(step);
      const CallCounter counter;
      lane->step(batches);
      CHECK(CallCounter::host_reads() == 0);
    }
  }
  CHECK(same_bits(*a, *b));
}

}  // namespace

TEST_CASE("a step with shadows has eager's bits in replay, and reads nothing") {
  at::set_num_threads(1);
  for (const LaneCase& host : growing_cases()) {
    LaneCase c = in_shadow(host);
    c.config.training.label_smoothing = 0.1;
    if (c.config.host.kind != config::HostKind::kCnn) c.config.host.dropout = 0.2;
    check_same_steps(c, 1);
    c.config.training.clip_norm = 0.5;
    if (c.config.host.kind != config::HostKind::kCnn) c.compute = torch::kBFloat16;
    check_same_steps(c, 2);
  }
}

TEST_CASE("so it has under fp16's loss scale") {
  at::set_num_threads(1);
  LaneCase c = in_shadow(growing_cases().front());
  c.compute = torch::kHalf;
  check_same_steps(c, 2);
}

}  // namespace esper::tests::prepared_lane_shadow_test
