// What a seed's stage means for the forward and for the gradients.

#include "kasmina/seed/seed.h"

#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "kasmina/network/network_seeds.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::seed_test {
namespace {

constexpr const char* kSeed = "seed-0001";
constexpr const char* kFirstWeight = "host.block0.linear.weight";  // before the slot r0c0

struct Gradients {
  double seed = 0;
  torch::Tensor first;  // of the host's parameters before the slot
};

Gradients gradients(const Growing& run) {
  std::vector<torch::Tensor> parameters = {run.parameter(kFirstWeight)};
  for (const auto& group : run.network.parameter_groups()) {
    if (group.id != kSeed) continue;
    for (const auto& named : group.parameters) parameters.push_back(named.tensor);
  }
  const auto loss = run.network.forward(run.probe, Mode::kTrain).square().mean();
  const auto all = torch::autograd::grad({loss}, parameters, {}, std::nullopt, false, true);
  Gradients result{0, all[0]};
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].defined()) result.seed += all[i].abs().sum().item<double>();
  }
  return result;
}

config::GrowthConfig growth_with(config::Composition composition) {
  auto growth = quick_growth();
  growth.composition = composition;
  return growth;
}

Growing grown_to(Stage stage, const config::GrowthConfig& growth = quick_growth()) {
  Growing run(growth);
  TORCH_CHECK(!Growing::rejected(run.germinate("r0c0", "mlp")));
  run.grow_to(kSeed, stage);
  run.disturb(kSeed);
  return run;
}

torch::Tensor host_alone_gradient() {
  const Growing run;
  const auto loss = run.network.forward(run.probe, Mode::kTrain).square().mean();
  return torch::autograd::grad({loss}, {run.parameter(kFirstWeight)})[0];
}

TEST_CASE("each stage sets the four scalars of the table") {
  const auto expect = [](Stage stage, const config::GrowthConfig& growth, std::vector<float> values) {
    Growing run(growth);
    run.germinate("r0c0", "mlp");
    run.grow_to(kSeed, stage);
    CAPTURE(static_cast<int>(stage));
    std::vector<float> seen;
    for (const auto& scalar : run.network.scalars()) seen.push_back(scalar.tensor.item<float>());
    if (stage == Stage::kBlending) {  // the first tick is done
      CHECK(seen[0] > 0);
      CHECK(seen[0] < 1);
      values[0] = seen[0];
    }
    CHECK(seen == values);
  };
  const auto growth = quick_growth();
  expect(Stage::kGerminated, growth, {0, 0, 0, 0});
  expect(Stage::kTraining, growth, {0, 1, 0, 1});
  expect(Stage::kBlending, growth, {0, 0, 0, 1});
  expect(Stage::kShadowing, growth, {1, 0, 0, 1});
  expect(Stage::kProbationary, growth, {1, 0, 1, 1});
  expect(Stage::kFossilized, growth, {1, 0, 1, 1});
  auto part = growth;
  part.alpha_target = 0.5;
  expect(Stage::kShadowing, part, {0.5, 0, 0, 1});
  expect(Stage::kProbationary, part, {1, 0, 1, 1});
  auto open = growth;
  open.isolate = false;
  expect(Stage::kTraining, open, {0, 1, 1, 1});
  expect(Stage::kBlending, growth_with(config::Composition::kConvex), {0, 0, 1, 1});
}

TEST_CASE("a blended seed's alpha rises from its training on, and goes on rising through blending") {
  auto growth = quick_growth();
  growth.training = config::SeedTraining::kBlended;
  growth.isolate = false;
  growth.alpha_curve = config::AlphaCurve::kLinear;
  growth.alpha_ticks = 4;
  Growing run(growth);
  run.germinate("r0c0", "mlp");
  CHECK(run.scalar("seed-0001.alpha") == 0);
  run.issue(SeedOperation::kStartTraining, kSeed);
  std::vector<float> alphas{static_cast<float>(run.scalar("seed-0001.alpha"))};
  const auto wait = [&] {
    run.end_epoch();
    alphas.push_back(static_cast<float>(run.scalar("seed-0001.alpha")));
  };
  wait(), wait();
  REQUIRE_FALSE(Growing::rejected(run.issue(SeedOperation::kStartGrafting, kSeed)));
  CHECK(run.scalar("seed-0001.alpha") == alphas.back());  // no tick of its own
  wait(), wait();
  CHECK(alphas == std::vector{0.25F, 0.5F, 0.75F, 1.0F, 1.0F});
  for (const char* scalar : {"seed-0001.isolation_gate", "seed-0001.training_gate"}) CHECK(run.scalar(scalar) == 1);
  CHECK(run.scalar("seed-0001.straight_through") == 0);
  CHECK_FALSE(Growing::rejected(run.issue(SeedOperation::kStabilize, kSeed)));
}

TEST_CASE("a blended seed's gradient is that of the loss at its own alpha") {
  auto growth = quick_growth();
  growth.training = config::SeedTraining::kBlended;
  growth.isolate = false;
  const auto run = grown_to(Stage::kTraining, growth);
  REQUIRE(run.scalar("seed-0001.alpha") > 0);
  // Against a difference quotient of the running loss, along one weight of the seed.
  torch::Tensor weight;
  for (const auto& group : run.network.parameter_groups()) {
    if (group.id == kSeed) weight = group.parameters.front().tensor;
  }
  const auto loss = [&] { return run.network.forward(run.probe, Mode::kTrain).to(torch::kFloat64).square().mean(); };
  const double slope = torch::autograd::grad({loss()}, {weight})[0].view(-1)[0].item<double>();
  const auto loss_at = [&](double shift) {
    const torch::NoGradGuard no_grad;
    auto entry = weight.view(-1)[0];
    const auto before = entry.clone();
    entry.add_(shift);
    const double value = loss().item<double>();
    entry.copy_(before);
    return value;
  };
  constexpr double kShift = 1e-2;
  const double quotient = (loss_at(kShift) - loss_at(-kShift)) / (2 * kShift);
  CHECK(std::abs(slope) > 1e-6);
  CHECK(std::abs(slope - quotient) < 0.02 * std::abs(slope));
}

TEST_CASE("a cancelled blended seed that trains leaves as one that blends") {
  auto growth = quick_growth();
  growth.training = config::SeedTraining::kBlended;
  auto run = grown_to(Stage::kTraining, growth);
  const double alpha = run.scalar("seed-0001.alpha");
  REQUIRE_FALSE(Growing::rejected(run.issue(SeedOperation::kCancel, kSeed)));
  CHECK(run.scalar("seed-0001.alpha") < alpha);
  CHECK(gradients(run).seed == 0);
  CHECK(Growing::rejected(run.issue(SeedOperation::kStartGrafting, kSeed)));
  for (int epoch = 0; epoch < growth.alpha_ticks; ++epoch) run.end_epoch();
  CHECK(export_seed_states(run.network.state()).empty());
}

TEST_CASE("a seed that was just germinated can be started by its slot") {
  Growing run;
  REQUIRE_FALSE(Growing::rejected(run.germinate("r0c0", "mlp")));
  auto start = run.command(SeedOperation::kStartTraining, "");
  start.seed_operation->slot = "r0c0";
  REQUIRE_FALSE(Growing::rejected(run.network.apply(start, run.probe)));
  CHECK(export_seed_states(run.network.state()).front().stage == Stage::kTraining);
  auto nowhere = run.command(SeedOperation::kStartTraining, "");
  nowhere.seed_operation->slot = "r0c1";
  CHECK(run.network.apply(nowhere, run.probe).back().reason == "no active seed at slot \"r0c1\"");
  auto other = run.command(SeedOperation::kCull, "");
  other.seed_operation->slot = "r0c0";
  CHECK(Growing::rejected(run.network.apply(other, run.probe)));  // all others name the seed
}

TEST_CASE("a training seed learns while the network's output and the host's gradient stay the host's") {
  for (const auto composition : {config::Composition::kAdd, config::Composition::kMultiply, config::Composition::kGate,
                                 config::Composition::kConvex}) {
    CAPTURE(static_cast<int>(composition));
    const auto run = grown_to(Stage::kTraining, growth_with(composition));
    const Growing alone;
    CHECK(same_bits(run.output(), alone.output()));
    CHECK(same_bits(run.network.forward(run.probe, Mode::kTrain).detach(), alone.output()));
    const auto found = gradients(run);
    CHECK(found.seed > 0);
    CHECK(at::equal(found.first, host_alone_gradient()));
  }
}

TEST_CASE("with isolation off a training seed's gradient reaches the host") {
  auto growth = quick_growth();
  growth.isolate = false;
  const auto run = grown_to(Stage::kTraining, growth);
  CHECK_FALSE(at::allclose(gradients(run).first, host_alone_gradient()));
}

TEST_CASE("a germinated seed gets no gradient") { CHECK(gradients(grown_to(Stage::kGerminated)).seed == 0); }

TEST_CASE("the host goes on learning in every stage, whatever the composition") {
  for (const auto composition : {config::Composition::kAdd, config::Composition::kMultiply, config::Composition::kGate,
                                 config::Composition::kConvex, config::Composition::kResidual,
                                 config::Composition::kChannel, config::Composition::kConfidence}) {
    for (const auto stage : {Stage::kTraining, Stage::kBlending, Stage::kShadowing, Stage::kProbationary}) {
      CAPTURE(static_cast<int>(composition), static_cast<int>(stage));
      const auto found = gradients(grown_to(stage, growth_with(composition)));
      CHECK(found.first.abs().sum().item<double>() > 1e-6);
      CHECK(found.seed > 0);
    }
  }
}

TEST_CASE("a seed that blends out is frozen") {
  auto run = grown_to(Stage::kProbationary);
  REQUIRE_FALSE(Growing::rejected(run.issue(SeedOperation::kCancel, kSeed)));
  CHECK(run.scalar("seed-0001.alpha") > 0);
  const auto found = gradients(run);
  CHECK(found.seed == 0);
  CHECK(found.first.abs().sum().item<double>() > 1e-6);
}

TEST_CASE("without gradients the forward has the same bits as with them") {
  for (const auto stage : {Stage::kTraining, Stage::kBlending, Stage::kProbationary}) {
    const auto run = grown_to(stage);
    CHECK(same_bits(run.output(), run.network.forward(run.probe, Mode::kEvaluate).detach()));
  }
}

TEST_CASE("improvement is the better of running and full alpha, and only what was measured") {
  SeedRecord record;
  CHECK_FALSE(record.improvement_points());
  record.accuracy = 0.6;
  CHECK_FALSE(record.improvement_points());
  record.accuracy_at_stage_start = 0.5;
  CHECK(std::abs(*record.improvement_points() - 10) < 1e-9);
  record.accuracy_at_full_alpha = 0.55;
  CHECK(std::abs(*record.improvement_points() - 10) < 1e-9);
  record.accuracy_at_full_alpha = 0.7;
  CHECK(std::abs(*record.improvement_points() - 20) < 1e-9);
  CHECK(std::abs(*record.shadow_points() - 10) < 1e-9);
  CHECK_FALSE(record.contribution_points());
  record.accuracy_without = 0.65;
  CHECK(std::abs(*record.contribution_points() + 5) < 1e-9);
}

}  // namespace
}  // namespace esper::kasmina::seed_test
