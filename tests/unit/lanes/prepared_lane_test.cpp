#include "lanes/prepared_lane.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>

#include "support/models/lane_steps.h"

namespace esper::test::prepared_lane_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

// ESPER_STEPS: how many, in place of so many.
int steps_or(int usual) {
  const char* asked = std::getenv("ESPER_STEPS");
  return asked == nullptr ? usual : std::stoi(asked);
}

void check_same_bits(const LaneCase& c, int accumulation, int steps) {
  auto a = make_model(c), b = make_model(c);
  const auto example = make_batches(c, accumulation);
  const auto eager = lanes::prepare_lane(*a, Lane::kEager, example, nullptr);
  const auto replay = lanes::prepare_lane(*b, Lane::kReplay, example, nullptr);
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
    check_same_bits(c, 1, steps_or(small ? 200 : 3));
    c.config.training.clip_norm = 0.5;
    c.config.training.ema_decay = 0.9;
    check_same_bits(c, 3, steps_or(2));
  }
}

TEST_CASE("replay equals eager under fp16's loss scale, a skipped step included") {
  LaneCase c = lane_cases()[1];
  c.compute = torch::kHalf;
  check_same_bits(c, 1, steps_or(20));
  c.config.training.grad_scaler = {1024, 4, 0.25, 3};
  check_same_bits(c, 1, steps_or(20));
}

TEST_CASE("so it does where a forward with batch norm overflows, which leaves no trace") {
  at::set_num_threads(1);
  LaneCase c = lane_case("cnn_fp16", config::HostKind::kCnn, leyline::image_shape(1, 12, 12, 10), 8);
  c.compute = torch::kHalf;
  c.config.host.blocks = 2;
  c.config.host.pool_layers = 1;
  const auto batches = make_batches(c, 2);
  auto spoilt = make_batches(c, 2);
  spoilt.back().inputs.mul_(1e12);
  std::vector<std::unique_ptr<step::Model>> models;
  for (const Lane kind : {Lane::kEager, Lane::kReplay}) {
    models.push_back(make_model(c));
    step::Model& model = *models.back();
    model.state.loss_scale.scale.fill_(128);
    const auto lane = lanes::prepare_lane(model, kind, batches, nullptr);
    REQUIRE(lane.refusal.empty());
    lane.step(batches);
    std::vector<torch::Tensor> before;
    for (const auto& [id, tensor] : model.network.buffers()) before.push_back(tensor.clone());
    lane.step(spoilt);
    CHECK(model.state.loss_scale.scale.item<double>() == 64);
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(at::equal(before[i], model.network.buffers()[i].tensor));
  }
  CHECK(tests::same_bits(*models.front(), *models.back()));
  CHECK(step::read_metrics(models.back()->state).loss == step::read_metrics(models.front()->state).loss);
}

TEST_CASE("making a lane ready leaves the model as it was") {
  const LaneCase c = lane_cases().front();
  auto model = make_model(c);
  const auto before = model->state.groups.front().parameters.flat.clone();
  const auto lane = lanes::prepare_lane(*model, Lane::kReplay, make_batches(c, 1), nullptr);
  REQUIRE(lane.refusal.empty());
  CHECK(at::equal(before, model->state.groups.front().parameters.flat));
}

TEST_CASE("an unavailable lane reports why") {
  const LaneCase c = lane_cases().front();
  auto model = make_model(c);
  const auto lane = lanes::prepare_lane(*model, Lane::kCompiled, make_batches(c, 1), nullptr);
  CHECK(lane.refusal == "there is no Python with torch");
}

}  // namespace esper::test::prepared_lane_test
