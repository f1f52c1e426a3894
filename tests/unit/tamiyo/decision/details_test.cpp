#include "tamiyo/decision/details.h"

#include <catch2/catch_test_macros.hpp>

#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::details_test {

TEST_CASE("the details of a decision come back from their text, to the last bit") {
  DecidedRun run;
  run.outputs.policy_logits[1] = 2;
  run.outputs.value = 0.1F;
  run.outputs.seed_scores = {0.3F, -0.1F, 1e-30F};
  ChoiceSettings settings;
  settings.max_seeds = 2;
  const auto choice = choose(run.outputs, run.candidates, run.now, settings);
  REQUIRE(choice);
  const auto text = details_text(details_of(run.outputs, *choice, run.candidates, run.now, settings));
  const auto again = read_details(text);
  REQUIRE(again);
  CHECK(details_text(*again) == text);
  CHECK(again->choice.action == "germinate");
  CHECK(again->choice.seed == choice->seed);
  CHECK(again->choice.blueprint == choice->blueprint);
  CHECK(again->outputs.policy_logits == run.outputs.policy_logits);
  CHECK(again->outputs.seed_scores == run.outputs.seed_scores);
  CHECK(again->outputs.value == 0.1F);
  REQUIRE(again->actions.size() == kActions);
  CHECK(again->actions[0].is_possible);
  CHECK(again->actions[1].targets == std::vector<int>{1, 2});
}

TEST_CASE("what is withheld is not possible") {
  const DecidedRun run;
  ChoiceSettings settings;
  settings.max_seeds = 2;
  settings.withheld = {Action::kAdvance};
  const auto details = details_of(run.outputs, {}, run.candidates, run.now, settings);
  CHECK_FALSE(details.actions[static_cast<std::size_t>(Action::kAdvance)].is_possible);
  CHECK(details.actions[static_cast<std::size_t>(Action::kCull)].is_possible);
}

TEST_CASE("a text without details is refused") {
  CHECK_FALSE(read_details(""));
  CHECK_FALSE(read_details("{}"));
  CHECK_FALSE(read_details(R"({"outputs":{"policy_logits":[1]}})"));
}

}  // namespace esper::tamiyo::details_test
