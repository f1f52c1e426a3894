#include "tolaria/evaluation/measure.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "kasmina/network/network_seeds.h"
#include "step/ema.h"
#include "support/run_fixture.h"

namespace esper::test::measure_test {

using step::EmaScope;
using step::train_step;
using step::training_forward;
using tolaria::RunOutcome;
using tolaria::validation_pass;

namespace {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;

// Dropout and averaged parameters: what a careless measurement would disturb.
config::RunConfig delicate(int epochs) {
  auto config = small_config();
  config.epochs = epochs;
  config.host.dropout = 0.3;
  config.training.ema_decay = 0.9;
  config.growth.training = config::SeedTraining::kStraightThrough;
  config.growth.alpha_ticks = 1;
  config.growth.counterfactual.every_epochs = 0;
  auto& gates = config.growth.gates;
  gates.min_training_epochs = gates.min_blending_epochs = 1;
  gates.min_improvement_points = gates.min_contribution_points = -100;
  gates.min_gradient_ratio = 0;
  gates.max_shadow_drop_points = 100;
  return config;
}

// Takes a seed one stage further after each epoch.
Decision one_stage_an_epoch(const Observation& seen) {
  constexpr SeedOperation kSteps[] = {SeedOperation::kStartTraining, SeedOperation::kStartGrafting,
                                      SeedOperation::kStabilize, SeedOperation::kEvaluate};
  if (seen.current_epoch == 1) return {{germination(seen)}, ""};
  if (seen.current_epoch > 5) return {};
  return {{seed_command(seen, kSteps[seen.current_epoch - 2], "seed-0001")}, ""};
}

}  // namespace

TEST_CASE("measuring changes no bit of a run, whatever stage its seed is in") {
  for (int epochs = 1; epochs <= 6; ++epochs) {
    SmallRun it(delicate(epochs), one_stage_an_epoch);
    REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
    // Into the middle of an epoch, where there are metric sums to lose.
    const auto batch = it.train_data->next();
    REQUIRE(batch);
    train_step(it.model->state, it.model->settings, {{{batch->inputs, batch->targets}}},
               training_forward(it.model->network));
    const auto before = it.bits();
    const auto seeds = kasmina::export_seed_states(it.model->network.state());
    INFO("after epoch " << epochs << ", stage " << (seeds.empty() ? 0 : static_cast<int>(seeds[0].stage)));
    REQUIRE(seeds.size() == 1);
    const auto measured = it.measure();
    CHECK(differing(before, it.bits()) == std::vector<std::string>{});
    CHECK(before.contains("rng.cpu"));
    CHECK(measured.running.complete);
    CHECK(measured.running.samples == 16);
    CHECK(measured.running_ms > 0);
    // TRAINING and SHADOWING below full alpha are tried at full alpha, PROBATIONARY is tried without.
    CHECK(measured.accuracy_at_full.contains("seed-0001") == (epochs == 2));
    CHECK(measured.accuracy_without.contains("seed-0001") == (epochs >= 5));
    CHECK(it.measure().running.loss == measured.running.loss);
  }
}

TEST_CASE("a seed's value is the difference that its alpha makes") {
  auto config = delicate(5);
  config.data.synthetic.noise = 0.3;  // the host alone gets it right
  config.training.ema_decay = 0;
  config.growth.blueprints = {"lora"};
  SmallRun it(config, one_stage_an_epoch);
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const torch::NoGradGuard no_grad;
  // A seed that spoils everything: without it the network is better.
  for (const auto& group : it.model->state.groups) {
    if (group.id != "seed-0001") continue;
    for (const auto& parameter : group.parameters.views) {
      parameter.detach().copy_(at::arange(parameter.numel()).sin().mul(50).reshape(parameter.sizes()));
    }
  }
  const auto measured = it.measure();
  CHECK(measured.accuracy_without.at("seed-0001") > measured.running.score);
}

TEST_CASE("validation uses the averaged parameters where the run keeps them") {
  SmallRun it(delicate(1));
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto running = validation_pass(*it.model, *it.validation_data, torch::kCPU);
  const auto measured = it.measure();
  CHECK(running.loss != measured.running.loss);
  const EmaScope averaged(it.model->state);
  CHECK(validation_pass(*it.model, *it.validation_data, torch::kCPU).loss == measured.running.loss);
}

TEST_CASE("a signal ends a measurement, and says that it is not whole") {
  SmallRun it(delicate(1));
  raise(SIGTERM);
  const auto measured = it.measure();
  CHECK(measured.interrupted);
  CHECK_FALSE(measured.running.complete);
  CHECK(measured.accuracy_at_full.empty());
}

}  // namespace esper::test::measure_test
