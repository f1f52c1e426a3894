// Random operators in every lane: the same distribution between lanes, the same bits within one.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "base/names.h"
#include "device/rng.h"
#include "integration/lanes/lane_room.h"
#include "program/package.h"
#include "program/python_text.h"
#include "program/recorder.h"
#include "program/replay/replay.h"

namespace esper::test::dropout_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

constexpr double kDropped = 0.3;
constexpr std::int64_t kElements = 512;
constexpr int kRounds = 2000;

// A step that is nothing but dropout: it counts how often each element stays, and adds up what comes out.
struct MaskStep {
  torch::Tensor ones = at::ones({kElements}), kept = at::zeros({kElements}), sum = at::zeros({kElements});

  std::vector<program::ExternalTensor> external_tensors() const {
    return {{"ones", ones}, {"kept", kept}, {"sum", sum}};
  }
  void run() {
    const torch::NoGradGuard no_grad;
    const auto out = at::dropout(ones, kDropped, /*train=*/true);
    kept.add_(out.ne(0).to(torch::kFloat32));
    sum.add_(out);
  }
  program::Program record() {
    auto recorded = program::record(external_tensors(), [&] { run(); });
    if (!recorded) FAIL(recorded.error());
    kept.zero_();
    sum.zero_();
    return *recorded;
  }
  std::vector<torch::Tensor> inputs_of(const program::Program& program) const {
    std::vector<torch::Tensor> inputs;
    for (const auto& input : program.inputs) {
      for (const auto& external : external_tensors()) {
        if (external.name == input.name) inputs.push_back(external.tensor);
      }
    }
    return inputs;
  }
};

// Bounds of five standard deviations: of all elements together, and of each by itself in the mean of squares.
void check_distribution(const MaskStep& step, const char* lane) {
  const double keep = 1 - kDropped, per_element = kRounds * keep * kDropped;
  const double all = step.kept.sum().item<double>(), trials = static_cast<double>(kElements) * kRounds;
  INFO(lane << " keeps " << all / trials);
  CHECK(std::abs(all - trials * keep) < 5 * std::sqrt(trials * keep * kDropped));
  // Masks that were the same at every step would make this kRounds * keep and more, not 1.
  const double spread = step.kept.sub(kRounds * keep).square().mean().item<double>() / per_element;
  INFO(lane << " spread " << spread);
  CHECK(std::abs(spread - 1) < 5 * std::sqrt(2.0 / kElements));
  CHECK(step.sum.sub(step.kept.div(keep)).abs().max().item<double>() < 1e-3 * kRounds);  // scaled by 1/keep
}

LaneCase with_dropout() {
  LaneCase c = lane_case("mlp dropout", config::HostKind::kMlp, leyline::features_shape(32, 8), 16);
  c.config.host.hidden = {32, 32};
  c.config.host.dropout = kDropped;
  return c;
}

struct Trained {
  std::unique_ptr<step::Model> model = make_model(with_dropout());
  lanes::PreparedLane lane;

  explicit Trained(Lane kind)
      : lane(lanes::prepare_lane(*model, kind, make_batches(with_dropout(), 1), &persistent_compile_service())) {
    INFO(lane.refusal);
    REQUIRE(lane.refusal.empty());
  }
  // The generator goes on from step to step, as in a run: batches are made beforehand.
  void steps(const std::vector<std::vector<step::Microbatch>>& batches, std::size_t from, std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) lane.step(batches[i]);
  }
};

std::vector<std::vector<step::Microbatch>> some_batches(std::size_t count) {
  std::vector<std::vector<step::Microbatch>> batches;
  for (std::size_t i = 0; i < count; ++i) batches.push_back(make_batches(with_dropout(), 1, i + 100));
  return batches;
}

}  // namespace

TEST_CASE("dropout has the same distribution in every lane") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  MaskStep eager, replayed, compiled;
  device::seed_all(1);
  for (int round = 0; round < kRounds; ++round) eager.run();
  check_distribution(eager, "eager");

  const auto program = replayed.record();
  program::Replay replay(program, replayed.inputs_of(program), {});
  device::seed_all(2);
  for (int round = 0; round < kRounds; ++round) replay.run();
  check_distribution(replayed, "replay");

  const auto same = compiled.record();
  const auto cached = persistent_compile_service().cache().find(lasting_package(same));
  REQUIRE(cached);
  const program::Package package(cached->file.path(), program::inputs_text(same), torch::kCPU);
  const auto inputs = compiled.inputs_of(same);
  device::seed_all(3);
  for (int round = 0; round < kRounds; ++round) package.run(inputs);
  check_distribution(compiled, "compiled");
}

TEST_CASE("within a lane the same seed gives the same bits, and a saved generator goes on where it was") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  const auto batches = some_batches(20);
  for (const Lane lane : {Lane::kEager, Lane::kReplay, Lane::kCompiled}) {
    CAPTURE(base::name_of(lane));
    const Trained first(lane), second(lane), resumed(lane), reseeded(lane);
    device::seed_all(7);
    first.steps(batches, 0, 20);
    device::seed_all(7);
    second.steps(batches, 0, 20);
    CHECK(same_bits(*first.model, *second.model));

    device::seed_all(7);
    resumed.steps(batches, 0, 9);
    const auto saved = device::rng_state(torch::kCPU);
    device::seed_all(99);  // what another process does with its own generator
    at::rand({1000});
    device::set_rng_state(torch::kCPU, saved);
    resumed.steps(batches, 9, 20);
    CHECK(same_bits(*first.model, *resumed.model));

    device::seed_all(8);
    reseeded.steps(batches, 0, 20);
    CHECK_FALSE(same_bits(*first.model, *reseeded.model));
  }
}

}  // namespace esper::test::dropout_test
