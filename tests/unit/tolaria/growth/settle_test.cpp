#include "tolaria/growth/settle.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <csignal>

#include "kasmina/network/network_seeds.h"
#include "support/run_fixture.h"

namespace esper::test::settle_test {

using tolaria::CheckpointImage;
using tolaria::fate_of;
using tolaria::list_checkpoints;
using tolaria::read_checkpoint;
using tolaria::RunOutcome;
using tolaria::SeedGain;

namespace {

using Catch::Approx;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::Stage;
using Kind = RunOutcome::Kind;

constexpr char kSeed[] = "seed-0001";

// A seed that is heard in full when the run ends, and not done. least_points: what the gate wants of it.
config::RunConfig unfinished(double least_points) {
  auto config = small_config();
  config.epochs = 5;
  config.checkpoint.every = {1, base::Length::Unit::kEpochs};
  config.checkpoint.keep_last = 100;
  config.growth.training = config::SeedTraining::kBlended;
  config.growth.alpha_ticks = 2;
  config.growth.gates.evidence = config::Evidence::kAblation;
  config.growth.gates.min_contribution_points = least_points;
  return config;
}

Decision germinate_after_two(const Observation& seen) {
  if (seen.current_epoch != 2) return {};
  auto start = seed_command(seen, SeedOperation::kStartTraining, {});
  start.command_id += "-start";
  start.seed_operation->slot = seen.slots.front().slot;
  return {{germination(seen), start}, "as the test says"};
}

struct SettlingRun : SmallRun {
  template <class... Arguments>
  explicit SettlingRun(const config::RunConfig& config, Arguments&&... arguments)
      : SmallRun(config, std::forward<Arguments>(arguments)...) {
    run.at_the_end = tolaria::AtTheEnd::kSettle;
  }
};

std::vector<CheckpointImage> checkpoints_of(SmallRun& it) {
  std::vector<CheckpointImage> images;
  for (const auto& entry : list_checkpoints(it.files, kCheckpoints)) {
    images.push_back(*read_checkpoint(it.files, entry.path));
  }
  return images;
}

}  // namespace

TEST_CASE("what is unfinished at the end and is supported by the evidence becomes part of the host") {
  SettlingRun it(unfinished(-100), germinate_after_two);
  REQUIRE(it.go().kind == Kind::kDone);
  const auto seeds = kasmina::export_seed_states(it.model->network.state());
  REQUIRE(seeds.size() == 1);
  CHECK(seeds[0].stage == Stage::kFossilized);
  CHECK(seeds[0].figures.alpha == 1);

  std::vector<std::string> stages;
  for (const auto& stage : it.events("seed_stage")) {
    if (stage.attributes.at("epoch") == "5") stages.push_back(stage.attributes.at("to"));
  }
  CHECK(stages == std::vector<std::string>{"BLENDING", "SHADOWING", "PROBATIONARY", "FOSSILIZED"});
  const auto settled = it.events("tolaria.seed_settled");
  REQUIRE(settled.size() == 1);
  CHECK(settled[0].attributes.at("result") == "kept");
  CHECK(settled[0].attributes.at("stage") == "TRAINING");
  CHECK_FALSE(settled[0].attributes.at("loss_gain").empty());
  bool recorded = false;
  for (const auto& record : it.journal())
    recorded = recorded || record.find("KEEP: the run is over") != std::string::npos;
  CHECK(recorded);

  // The run's last figures are those of the network that is left.
  const auto now = it.measure();
  CHECK(it.progress.validation->loss == Approx(now.running.loss));
  CHECK(it.progress.validation->score == Approx(now.running.score));
}

TEST_CASE("a seed that was being blended in when the run ended stays at its alpha: what is left is what ran") {
  auto config = unfinished(-100);
  config.growth.alpha_ticks = 8;
  SettlingRun it(config, germinate_after_two);
  SettlingRun unsettled(config, germinate_after_two);
  unsettled.run.at_the_end = tolaria::AtTheEnd::kLeave;
  REQUIRE(it.go().kind == Kind::kDone);
  REQUIRE(unsettled.go().kind == Kind::kDone);
  // The epoch's end has advanced it; no step was trained with that.
  const auto advanced = kasmina::export_seed_states(unsettled.model->network.state()).at(0);
  const auto left = kasmina::export_seed_states(it.model->network.state()).at(0);
  CHECK(left.stage == Stage::kFossilized);
  CHECK(left.figures.alpha > 0);
  CHECK(left.figures.alpha < advanced.figures.alpha);
  CHECK(advanced.figures.alpha < 1);
  CHECK(it.measure().running.loss == unsettled.progress.validation->loss);
  CHECK(it.progress.validation->loss == unsettled.progress.validation->loss);
  CHECK(it.events("tolaria.seed_settled").at(0).attributes.at("result") == "kept");

  // Its checkpoint has the alpha, too.
  SettlingRun again(config, germinate_after_two, checkpoints_of(it).back());
  CHECK(again.measure().running.loss == it.measure().running.loss);
}

TEST_CASE("what is unfinished at the end and not supported is removed, and the figures follow") {
  SettlingRun it(unfinished(100), germinate_after_two);
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(kasmina::export_seed_states(it.model->network.state()).empty());
  const auto settled = it.events("tolaria.seed_settled");
  REQUIRE(settled.size() == 1);
  CHECK(settled[0].attributes.at("result") == "removed");
  CHECK(it.events("seed_removed").size() == 1);
  CHECK(it.progress.validation->loss == Approx(it.measure().running.loss));
  CHECK(checkpoints_of(it).back().info.epoch == 5);
}

TEST_CASE("where the policy removes a seed at the end of the last epoch, the figures are of the network that is left") {
  const auto culls_at_the_end = [](const Observation& seen) -> Decision {
    if (seen.is_last) return {{seed_command(seen, SeedOperation::kCull, kSeed)}, "as the test says"};
    return germinate_after_two(seen);
  };
  SettlingRun it(unfinished(100), culls_at_the_end);
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(kasmina::export_seed_states(it.model->network.state()).empty());
  CHECK(it.events("tolaria.seed_settled").empty());
  CHECK(it.progress.validation->loss == it.measure().running.loss);
  CHECK(it.values("tolaria.validation.loss").back() != it.progress.validation->loss);  // the epoch's own
}

TEST_CASE("a seed that is not heard at the end is removed unmeasured") {
  auto config = unfinished(-100);
  config.growth.training = config::SeedTraining::kStraightThrough;
  SettlingRun it(config, germinate_after_two);
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(kasmina::export_seed_states(it.model->network.state()).empty());
  const auto settled = it.events("tolaria.seed_settled");
  REQUIRE(settled.size() == 1);
  CHECK(settled[0].attributes.at("loss_gain").empty());
  CHECK(settled[0].attributes.at("reason") == "the run is over and its alpha is 0: it does nothing");
}

TEST_CASE("where no prediction differs the interval of the gain in points is that of the rule of three") {
  auto config = unfinished(-100);
  config.training.optimizer.lr = 1e-9;
  SettlingRun it(config, [](const Observation& seen) {
    auto decision = germinate_after_two(seen);
    if (!decision.commands.empty()) decision.commands.front() = leyline::germination("born", "r0c0", "mlp");
    return decision;
  });
  REQUIRE(it.go().kind == Kind::kDone);
  const auto settled = it.events("tolaria.seed_settled");
  REQUIRE(settled.size() == 1);
  CHECK(settled[0].attributes.at("points_gain") == "0");
  CHECK(settled[0].attributes.at("points_gain_half_width") == "18.75");  // 3 of 16 samples
}

TEST_CASE("a single validation sample shows nothing: its gain has no interval, and the seed is removed") {
  auto config = unfinished(-100);
  config.growth.gates.evidence = config::Evidence::kNone;
  config.data.validation_fraction = 1.0 / 64;
  SettlingRun it(config, germinate_after_two);
  REQUIRE(it.measure().running.samples == 1);
  REQUIRE(it.go().kind == Kind::kDone);
  const auto settled = it.events("tolaria.seed_settled");
  REQUIRE(settled.size() == 1);
  const auto& figures = settled[0].attributes;
  CHECK(figures.at("result") == "removed");
  CHECK_FALSE(figures.at("loss_gain").empty());
  CHECK(figures.at("loss_gain_half_width").empty());
  CHECK_FALSE(figures.at("points_gain").empty());
  CHECK(figures.at("points_gain_half_width").empty());
  CHECK(figures.at("reason").find("95 % interval not measured: there is one validation sample") != std::string::npos);
}

TEST_CASE("a run that stops early says so to the policy, and settles what grows") {
  auto config = unfinished(100);
  config.epochs = 20;
  config.training.early_stop_epochs = 4;
  config.training.early_stop_min_delta = 100;
  std::vector<bool> last;
  SettlingRun it(config, [&last](const Observation& seen) {
    last.push_back(seen.is_last);
    return germinate_after_two(seen);
  });
  CHECK(it.go().kind == Kind::kEarlyStopped);
  CHECK(last == std::vector<bool>{false, false, false, false, true});
  CHECK(kasmina::export_seed_states(it.model->network.state()).empty());
  CHECK(it.events("tolaria.seed_settled").size() == 1);
}

TEST_CASE("a run whose patience is lowered while a seed grows trains one epoch more, which settles it") {
  auto config = unfinished(100);
  config.training.early_stop_min_delta = 100;
  SmallRun left(config, germinate_after_two);
  left.run.at_the_end = tolaria::AtTheEnd::kLeave;
  REQUIRE(left.go().kind == Kind::kDone);
  config.epochs = 20;
  config.training.early_stop_epochs = 2;
  SettlingRun it(config, germinate_after_two, checkpoints_of(left).back());
  CHECK(it.go().kind == Kind::kEarlyStopped);
  CHECK(it.progress.epoch == 6);
  CHECK(kasmina::export_seed_states(it.model->network.state()).empty());
  CHECK(it.events("tolaria.seed_settled").size() == 1);
}

TEST_CASE("a run resumed at any epoch settles alike, and one that was settled stays as it is") {
  SettlingRun whole(unfinished(-100), germinate_after_two);
  REQUIRE(whole.go().kind == Kind::kDone);
  const auto images = checkpoints_of(whole);
  REQUIRE(images.size() >= 5);
  for (const auto& image : images) {
    CAPTURE(image.info.epoch);
    SettlingRun again(unfinished(-100), germinate_after_two, image);
    REQUIRE(again.go().kind == Kind::kDone);
    CHECK(differing(again.bits(), whole.bits()) == std::vector<std::string>{});
    CHECK(again.progress.validation->loss == whole.progress.validation->loss);
  }
}

TEST_CASE("a signal while seeds are settled leaves the last epoch's end to the process that goes on") {
  SettlingRun whole(unfinished(-100), germinate_after_two);
  REQUIRE(whole.go().kind == Kind::kDone);
  SettlingRun it(unfinished(-100), [](const Observation& seen) {
    if (seen.is_last) raise(SIGTERM);
    return germinate_after_two(seen);
  });
  CHECK(it.go().kind == Kind::kInterrupted);
  CHECK(it.progress.epoch == 4);
  CHECK(it.events("tolaria.seed_settled").empty());
  const auto images = checkpoints_of(it);
  REQUIRE_FALSE(images.empty());
  SettlingRun resumed(unfinished(-100), germinate_after_two, images.back());
  CHECK(resumed.go().kind == Kind::kDone);
  CHECK(differing(resumed.bits(), whole.bits()) == std::vector<std::string>{});
}

TEST_CASE("what was measured before such a signal is reported once, by the process that goes on") {
  auto config = unfinished(-100);
  config.growth.counterfactual.every_epochs = 1;
  config.growth.counterfactual.deadline = std::chrono::nanoseconds(1);
  const auto late_at_the_end = [](const SmallRun& it) {
    const auto events = it.events("tolaria.counterfactual_late");
    return std::ranges::count_if(events, [](const auto& late) { return late.attributes.at("epoch") == "5"; });
  };
  SettlingRun it(config, [](const Observation& seen) {
    if (seen.is_last) raise(SIGTERM);
    return germinate_after_two(seen);
  });
  REQUIRE(it.go().kind == Kind::kInterrupted);
  CHECK(late_at_the_end(it) == 0);
  SettlingRun resumed(config, germinate_after_two, checkpoints_of(it).back());
  REQUIRE(resumed.go().kind == Kind::kDone);
  CHECK(late_at_the_end(resumed) == 1);
}

TEST_CASE("each kind of evidence has its own demand") {
  config::GateConfig gates;
  leyline::SeedState seed;
  gates.evidence = config::Evidence::kNone;
  CHECK_FALSE(fate_of(seed, {}, gates).is_kept);
  CHECK(fate_of(seed, {.loss = 0.2, .loss_half_width = 0.1}, gates).is_kept);
  CHECK_FALSE(fate_of(seed, {.loss = 0.2, .loss_half_width = 0.2}, gates).is_kept);
  CHECK_FALSE(fate_of(seed, {.loss = 0.2}, gates).is_kept);   // of one sample
  CHECK_FALSE(fate_of(seed, {.points = 50}, gates).is_kept);  // without a lower loss
  gates.evidence = config::Evidence::kAblation;
  gates.min_contribution_points = 2;
  CHECK(fate_of(seed, {.points = 2}, gates).is_kept);
  CHECK_FALSE(fate_of(seed, {.loss = 9, .points = 1.9}, gates).is_kept);

  gates.evidence = config::Evidence::kControl;
  const SeedGain large{.loss = 9, .points = 90};
  CHECK_FALSE(fate_of(seed, large, gates).is_kept);
  CHECK(fate_of(seed, large, gates).reason.find("was not measured") != std::string::npos);
  seed.figures.worth = {.loss = 0.3, .loss_half_width = 0.2, .epochs = 1, .horizon = 3};
  CHECK(fate_of(seed, {}, gates).is_kept);
  CHECK(fate_of(seed, {.loss = -0.2, .loss_half_width = 0.2}, gates).is_kept);
  CHECK_FALSE(fate_of(seed, {.loss = -0.2, .loss_half_width = 0.1}, gates).is_kept);  // it was not heard in full
  CHECK_FALSE(fate_of(seed, {.loss = NAN, .loss_half_width = NAN}, gates).is_kept);
  CHECK(fate_of(seed, {.loss = -0.2}, gates).is_kept);  // one sample shows no higher loss either
  seed.figures.worth.loss = 0.1;
  CHECK_FALSE(fate_of(seed, large, gates).is_kept);
}

}  // namespace esper::test::settle_test
