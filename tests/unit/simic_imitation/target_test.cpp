#include "simic/imitation/target.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tamiyo/decision/choice.h"
#include "tamiyo/graph/build_graph.h"
#include "unit/simic_imitation/taught_run.h"

namespace esper::test::target_test {

using namespace esper;
using namespace esper::simic;
using Catch::Approx;
using tamiyo::Action;

namespace {

struct Taught {
  leyline::Observation observation = observed_after(12);
  leyline::Decision decision;
  int max_seeds = 4;

  tamiyo::Candidates candidates() const {
    tamiyo::GraphBuilder builder;
    builder.read(observation);
    return builder.build({}).candidates;
  }
  base::Expected<Target> target() const {
    const auto all = candidates();
    return target_of({observation, decision, all, max_seeds});
  }
};

}  // namespace

TEST_CASE("a decision without a germination is to wait, whatever the care does") {
  Taught taught;
  taught.decision.commands = {leyline::seed_command({}, leyline::SeedOperation::kCull, "seed-0")};
  const auto target = taught.target();
  REQUIRE(target);
  CHECK(target->action == Action::kWait);
  CHECK((target->possible == std::vector{Action::kWait, Action::kGerminate, Action::kCull}));
  CHECK(target->slot == -1);
}

TEST_CASE("a germination names its rows among those that could have been chosen") {
  Taught taught;
  taught.decision.commands = {germinate("r0c2", "norm")};
  const auto target = taught.target();
  REQUIRE(target);
  const auto candidates = taught.candidates();
  CHECK(target->action == Action::kGerminate);
  CHECK(target->slots.size() == 2);
  CHECK(candidates.seeds[static_cast<std::size_t>(target->slot)].slot == "r0c2");
  CHECK(candidates.blueprints[static_cast<std::size_t>(target->blueprint)] == "norm");
  CHECK(target->blueprints.size() == 2);
}

TEST_CASE("the blend that is taught is the one that the network's answer becomes") {
  Taught taught;
  taught.observation.parameters = {{"alpha_curve", 0, 2, 1}, {"alpha_ticks", 1, 8, 5}, {"alpha_target", 0.05, 1, 1}};
  taught.decision.commands = {germinate("r0c1", "lora")};
  const auto blend_taught = [&] {
    const auto target = taught.target();
    REQUIRE(target);
    tamiyo::PolicyOutputs outputs;
    outputs.schedule = {0.25F, 0.25F + target->blend.length};
    outputs.schedule[1] = std::min(outputs.schedule[1], 1.0F);
    outputs.schedule[0] = outputs.schedule[1] - target->blend.length;
    outputs.policy_params[0] = target->blend.param;
    return blend_of(outputs, target->blend.curve);
  };
  CHECK(blend_taught() == tamiyo::BlendChoice{1, 5, 1});
  taught.decision.commands[0].seed_operation->parameters = {
      {"alpha_curve", 2}, {"alpha_ticks", 8}, {"alpha_target", 0.35}};
  const auto given = blend_taught();
  CHECK(given.curve == 2);
  CHECK(given.ticks == 8);
  CHECK(given.target == Approx(0.35));
}

TEST_CASE("a germination that the network cannot choose is left out with the reason") {
  Taught taught;
  taught.decision.commands = {germinate("r0c7", "norm")};
  const auto no_slot = taught.target();
  REQUIRE(!no_slot);
  CHECK_THAT(no_slot.error(), Catch::Matchers::ContainsSubstring("slot r0c7 is not one that the network could choose"));
  taught.decision.commands = {germinate("r0c1", "conv_heavy")};
  const auto no_blueprint = taught.target();
  REQUIRE(!no_blueprint);
  CHECK_THAT(no_blueprint.error(), Catch::Matchers::ContainsSubstring("blueprint conv_heavy"));
  taught.decision.commands = {germinate("r0c1", "norm")};
  taught.max_seeds = 1;
  CHECK(!taught.target());
}

}  // namespace esper::test::target_test
