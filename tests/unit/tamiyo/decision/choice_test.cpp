#include "tamiyo/decision/choice.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::choice_test {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr ChoiceSettings kHighest{.seed = 7, .temperature = 0, .max_seeds = 4};

Choice chosen(const DecidedRun& run, const ChoiceSettings& settings = kHighest) {
  auto choice = choose(run.outputs, run.candidates, run.now, settings);
  REQUIRE(choice);
  return choice.value();
}

float& logit(DecidedRun& run, Action action) { return run.outputs.policy_logits[static_cast<std::size_t>(action)]; }

}  // namespace

TEST_CASE("a fresh network waits") {
  const auto choice = chosen({});
  CHECK(choice.action == Action::kWait);
  CHECK(choice.seed == -1);
  CHECK(choice.probability > 0.2);
  CHECK_FALSE(choice.assessment.seed_index);
}

TEST_CASE("without noise the highest scores are chosen, and of equal ones the first") {
  DecidedRun run;
  logit(run, Action::kGerminate) = 2;
  run.outputs.seed_scores = {9, 1, 1};  // the growing seed is no place to germinate
  run.outputs.blueprint_scores = {0, 0.5F};
  const auto choice = chosen(run);
  CHECK(choice.action == Action::kGerminate);
  CHECK(choice.seed == 1);
  CHECK(choice.blueprint == 1);
  CHECK(choice.assessment.seed_index == 1);
  CHECK(choice.assessment.seed_score == 1.0);
  CHECK(choice.assessment.blueprint_index == 1);
  REQUIRE(choice.assessment.blending);
  CHECK(choice.assessment.blending->method == "linear");
}

TEST_CASE("a masked action never comes out, whatever its logit, with noise and without") {
  DecidedRun run;
  run.candidates.seeds.erase(run.candidates.seeds.begin());  // no growing seed
  run.candidates.fits = {{0}, {1}};
  run.outputs.seed_scores = {0, 0};
  run.now.seed_states.clear();
  run.outputs.policy_logits.fill(30);  // the free ones, too
  logit(run, Action::kWait) = -30;
  for (run.now.current_epoch = 1; run.now.current_epoch <= 2000; ++run.now.current_epoch) {
    const auto choice = chosen(run, {.seed = 1, .temperature = 5, .max_seeds = 4});
    REQUIRE((choice.action == Action::kWait || choice.action == Action::kGerminate));
    if (choice.action == Action::kGerminate) REQUIRE(choice.blueprint == choice.seed);  // what fits there
  }
}

TEST_CASE("sampling follows the softmax of the possible actions, and repeats for the same seed and epoch") {
  DecidedRun run;
  logit(run, Action::kWait) = 1;
  logit(run, Action::kCull) = 2;
  constexpr std::uint32_t kEpochs = 20'000;
  std::map<Action, double> shares;
  for (run.now.current_epoch = 1; run.now.current_epoch <= kEpochs; ++run.now.current_epoch) {
    const auto choice = chosen(run, {.seed = 3, .temperature = 1, .max_seeds = 4});
    shares[choice.action] += 1.0 / kEpochs;
    if (run.now.current_epoch % 1000 == 0) {
      CHECK(chosen(run, {.seed = 3, .temperature = 1, .max_seeds = 4}).action == choice.action);
    }
  }
  const double sum = std::exp(1.0) + std::exp(2.0) + 3 * std::exp(-0.5);
  CHECK(std::abs(shares[Action::kWait] - std::exp(1.0) / sum) < 0.02);
  CHECK(std::abs(shares[Action::kCull] - std::exp(2.0) / sum) < 0.02);
  CHECK(std::abs(shares[Action::kGerminate] - std::exp(-0.5) / sum) < 0.02);
  CHECK(std::abs(chosen(run).probability - std::exp(2.0) / sum) < 1e-6);
}

TEST_CASE("an output that is not finite is no decision, wherever it is") {
  const std::function<float&(PolicyOutputs&)> places[] = {
      [](auto& it) -> float& { return it.policy_logits[31]; },  [](auto& it) -> float& { return it.policy_params[3]; },
      [](auto& it) -> float& { return it.blending_logits[2]; }, [](auto& it) -> float& { return it.schedule[0]; },
      [](auto& it) -> float& { return it.risk_logits[4]; },     [](auto& it) -> float& { return it.value; },
      [](auto& it) -> float& { return it.breaker_logits[1]; },  [](auto& it) -> float& { return it.seed_scores[0]; },
      [](auto& it) -> float& { return it.blueprint_scores[1]; }};
  for (const auto& place : places) {
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      DecidedRun run;
      place(run.outputs) = wrong;
      CHECK_FALSE(choose(run.outputs, run.candidates, run.now, kHighest));
    }
  }
  DecidedRun run;
  run.outputs.risk_logits[4] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(choose(run.outputs, run.candidates, run.now, kHighest).error(), ContainsSubstring("risk_logits[4]"));
}

TEST_CASE("scores that do not match the candidates are no decision") {
  DecidedRun run;
  run.outputs.seed_scores.push_back(0);
  CHECK_THAT(choose(run.outputs, run.candidates, run.now, kHighest).error(),
             ContainsSubstring("4 seed_scores for 3 candidates"));
  DecidedRun other;
  other.outputs.blueprint_scores.clear();
  CHECK_FALSE(choose(other.outputs, other.candidates, other.now, kHighest));
}

TEST_CASE("the blend stays within the legal ranges of GERMINATE") {
  PolicyOutputs outputs;
  CHECK(blend_of(outputs, 0) == BlendChoice{0, 1, 1});
  outputs.schedule = {0, 1};
  outputs.policy_params[0] = -1;
  CHECK(blend_of(outputs, 2) == BlendChoice{2, kMostBlendTicks, 0.05});
  outputs.schedule = {0.25F, 0.75F};
  outputs.policy_params[0] = 1;
  CHECK(blend_of(outputs, 1).ticks == 5);  // 1 + round(3.5)
  CHECK(blend_of(outputs, 1).target == 1);
  outputs.schedule = {0.9F, 0.1F};  // of a network that is broken
  outputs.policy_params[0] = -7;
  CHECK(blend_of(outputs, 1) == BlendChoice{1, 1, 0.05});
}

TEST_CASE("risk is the mean level: low where the lowest level is certain, high where the highest is") {
  PolicyOutputs outputs;
  CHECK(risk_of(outputs) == 0.5);
  outputs.risk_logits[0] = 50;
  CHECK(risk_of(outputs) < 1e-6);
  outputs.risk_logits[4] = 100;
  CHECK(risk_of(outputs) > 1 - 1e-6);
}

}  // namespace esper::tamiyo::choice_test
