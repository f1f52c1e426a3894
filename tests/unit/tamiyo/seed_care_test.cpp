#include "tamiyo/seed_care.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <vector>

namespace esper::tamiyo::seed_care_test {
namespace {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::SeedState;
using leyline::Stage;
using leyline::ValidationChange;

Observation seen_with(const SeedState& seed, std::uint32_t epoch = 9) {
  Observation seen;
  seen.current_epoch = epoch;
  seen.validation_accuracy = 0.5;
  seen.validation_loss = 1;
  seen.seed_states = {seed};
  return seen;
}

SeedState seed_in(Stage stage) {
  SeedState seed;
  seed.seed_id = "seed-0001";
  seed.stage = stage;
  seed.stage_epochs = 3;
  seed.figures.gradient_ratio = 1;
  seed.figures.improvement_points = 1;
  seed.figures.contribution_points = 5;
  seed.figures.alpha = 1;
  return seed;
}

Rules stays_in_training(int prune_after_epochs) {
  Rules rules;
  rules.heuristic.prune_after_epochs = prune_after_epochs;
  rules.gates.min_gradient_ratio = 2;
  return rules;
}

}  // namespace

TEST_CASE("after the last epoch a seed may still become a part for good, and no other step is taken") {
  for (const auto stage : {Stage::kTraining, Stage::kProbationary}) {
    SeedCare care(Rules{}, "test");
    auto seen = seen_with(seed_in(stage));
    seen.is_last = true;
    Decision decision;
    REQUIRE(care.update(seen, decision));
    if (stage == Stage::kTraining) {
      CHECK(decision.commands.empty());
      CHECK(decision.reason.find("unfinished, and the run is over") != std::string::npos);
    } else {
      REQUIRE(decision.commands.size() == 1);
      CHECK(decision.commands[0].seed_operation->operation == SeedOperation::kFossilize);
    }
  }
}

TEST_CASE("after the last epoch nothing is pruned: the run settles what is unfinished and measures what is left") {
  Rules rules;
  rules.gates.evidence = config::Evidence::kAblation;
  for (const bool is_last : {false, true}) {
    SeedCare care(rules, "test");
    auto seed = seed_in(Stage::kProbationary);
    seed.figures.contribution_points = -50;
    auto seen = seen_with(seed);
    seen.is_last = is_last;
    Decision decision;
    REQUIRE(care.update(seen, decision));
    CAPTURE(decision.reason);
    CHECK(decision.commands.empty() == is_last);
  }
}

TEST_CASE("a seed is stale when nothing better is shown, whatever single accuracies say") {
  Rules rules;
  rules.heuristic.prune_after_epochs = 4;
  rules.gates.min_gradient_ratio = 2;  // it stays in training
  for (const double fall : {0.01, 0.2}) {
    SeedCare care(rules, "test");
    std::size_t culls = 0;
    for (std::uint32_t epoch = 1; epoch <= 6; ++epoch) {
      auto seed = seed_in(Stage::kTraining);
      seed.figures.improvement_points = epoch;  // a new best accuracy in each
      auto seen = seen_with(seed, epoch);
      seen.validation_changes = {
          {.after = 1, .before = 5, .loss = -fall, .loss_error = base::StandardError{0.05, 1000}}};
      Decision decision;
      care.update(seen, decision);
      culls += decision.commands.size();
    }
    CAPTURE(fall);
    CHECK((culls > 0) == (fall < 0.1));
  }
}

TEST_CASE("a seed is stale after so many epochs, however often the policy is asked") {
  SeedCare care(stays_in_training(6), "test");
  std::vector<std::uint32_t> culls;
  for (std::uint32_t epoch = 3; epoch <= 9; epoch += 3) {
    Decision decision;
    care.update(seen_with(seed_in(Stage::kTraining), epoch), decision);
    if (!decision.commands.empty()) culls.push_back(epoch);
  }
  CHECK(culls == std::vector<std::uint32_t>{9});
}

TEST_CASE("a prune that is held back is commanded again, in a later stage too, and counts once") {
  SeedCare care(stays_in_training(4), "test");
  std::vector<std::uint32_t> culls;
  std::size_t lost = 0;
  const auto update = [&](const Observation& seen) {
    Decision decision;
    const auto report = care.update(seen, decision);
    REQUIRE(report);
    lost += report->lost.size();
    if (!decision.commands.empty()) culls.push_back(seen.current_epoch);
    return decision.reason;
  };
  for (std::uint32_t epoch = 1; epoch <= 7; ++epoch) update(seen_with(seed_in(Stage::kTraining), epoch));
  CHECK(culls == std::vector<std::uint32_t>{5, 6, 7});
  for (std::uint32_t epoch = 8; epoch <= 11; ++epoch) update(seen_with(seed_in(Stage::kShadowing), epoch));
  CHECK(culls == std::vector<std::uint32_t>{5, 6, 7, 11});
  auto gone = seen_with({}, 12);
  gone.seed_states.clear();
  CHECK(update(gone).empty());
  CHECK(lost == 1);
  CHECK(care.state().seeds.empty());
}

TEST_CASE("a step that was held back is commanded again at once, and waits once it was let through") {
  SeedCare care(Rules{}, "test");
  std::vector<std::uint32_t> asked;
  for (std::uint32_t epoch = 1; epoch <= 8; ++epoch) {
    auto seen = seen_with(seed_in(Stage::kProbationary), epoch);
    if (epoch > 1 && epoch <= 5) seen.held_back = {"seed-0001"};
    Decision decision;
    care.update(seen, decision);
    if (!decision.commands.empty()) asked.push_back(epoch);
  }
  CHECK(asked == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 8});
}

TEST_CASE("what was held back long after a step was rejected does not shorten its pause") {
  SeedCare care(Rules{}, "test");
  std::vector<std::uint32_t> asked;
  for (std::uint32_t epoch = 1; epoch <= 8; ++epoch) {
    auto seen = seen_with(seed_in(Stage::kProbationary), epoch);
    if (epoch == 4 || epoch == 6)
      seen.held_back = {"seed-0001", "r0c0"};  // the step was asked for before epochs 2, 3 and 5
    Decision decision;
    care.update(seen, decision);
    if (!decision.commands.empty()) asked.push_back(epoch);
  }
  CHECK(asked == std::vector<std::uint32_t>{1, 2, 4, 8});
}

TEST_CASE("a germination that was held back is not lost") {
  for (const bool is_held : {false, true}) {
    SeedCare care(Rules{}, "test");
    auto seen = seen_with({}, 1);
    seen.seed_states.clear();
    Decision decision;
    REQUIRE(care.update(seen, decision));
    care.germinate(seen, {"r0c0", "mlp"}, "as the test says", decision);
    seen.current_epoch = 2;
    if (is_held) seen.held_back = {"r0c0"};
    Decision next;
    const auto report = care.update(seen, next);
    REQUIRE(report);
    CHECK(report->lost.size() == (is_held ? 0 : 1));
    CHECK((next.reason == "the germination of mlp at r0c0 was held back") == is_held);
    CHECK(care.state().asked.empty());
  }
}

TEST_CASE("a seed that meets its gate is not pruned as stale where its step had no effect") {
  Rules rules;
  rules.heuristic.prune_after_epochs = 4;
  SeedCare care(rules, "test");
  std::vector<std::uint32_t> asked;
  for (std::uint32_t epoch = 1; epoch <= 12; ++epoch) {
    Decision decision;
    care.update(seen_with(seed_in(Stage::kProbationary), epoch), decision);
    for (const auto& command : decision.commands) {
      CHECK(command.seed_operation->operation == SeedOperation::kFossilize);
      asked.push_back(epoch);
    }
  }
  CHECK(asked == std::vector<std::uint32_t>{1, 2, 4, 8});
}

}  // namespace esper::tamiyo::seed_care_test
