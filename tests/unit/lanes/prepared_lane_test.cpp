#include "lanes/prepared_lane.h"

#include <catch2/catch_test_macros.hpp>

#include "support/lane_cases.h"

namespace esper::test::prepared_lane_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

void check_same_bits(const LaneCase& c, int accumulation, int steps) {
  auto a = make_model(c), b = make_model(c);
  const auto example = make_batches(c, accumulation);
  const auto eager = lanes::prepare_lane(*a, Lane::kEager, example, torch::kCPU, nullptr);
  const auto replay = lanes::prepare_lane(*b, Lane::kReplay, example, torch::kCPU, nullptr);
  INFO(c.name << ", accumulation " << accumulation << ": " << replay.refusal);
  REQUIRE(replay.refusal.empty());
  for (int step = 0; step < steps; ++step) {
    const auto batches = make_batches(c, accumulation, static_cast<std::uint64_t>(step) + 10);
    for (const auto* lane : {&eager, &replay}) {
      at::manual_seed(static_cast<std::uint64_t>(step));
      lane->step(batches);
    }
  }
  const auto expected = step::named_tensors(a->state), actual = step::named_tensors(b->state);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(expected[i].id);
    CHECK(at::equal(expected[i].tensor, actual[i].tensor));
  }
  const auto buffers = a->network.buffers(), others = b->network.buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) CHECK(at::equal(buffers[i].tensor, others[i].tensor));
}

}  // namespace

TEST_CASE("replay equals eager to the bit on every kind of network, optimizer and precision") {
  at::set_num_threads(1);
  for (LaneCase c : lane_cases()) {
    const bool small = c.config.host.kind == config::HostKind::kLinear || c.name == "mlp_adamw";
    check_same_bits(c, 1, small ? 200 : 3);
    c.config.training.clip_norm = 0.5;
    c.config.training.ema_decay = 0.9;
    check_same_bits(c, 3, 2);
  }
}

TEST_CASE("replay equals eager under fp16's loss scale, a skipped step included") {
  LaneCase c = lane_cases()[1];
  c.compute = torch::kHalf;
  check_same_bits(c, 1, 20);
}

TEST_CASE("making a lane ready leaves the model as it was") {
  const LaneCase c = lane_cases().front();
  auto model = make_model(c);
  const auto before = model->state.groups.front().parameters.flat.clone();
  lanes::prepare_lane(*model, Lane::kReplay, make_batches(c, 1), torch::kCPU, nullptr);
  CHECK(at::equal(before, model->state.groups.front().parameters.flat));
}

TEST_CASE("an unavailable lane reports why") {
  const LaneCase c = lane_cases().front();
  auto model = make_model(c);
  const auto lane = lanes::prepare_lane(*model, Lane::kCompiled, make_batches(c, 1), torch::kCPU, nullptr);
  CHECK(lane.refusal == "there is no Python with torch");
}

}  // namespace esper::test::prepared_lane_test
