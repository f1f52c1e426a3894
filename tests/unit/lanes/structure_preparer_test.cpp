// Steps of structures that may come are ready before they do.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <stdexcept>

#include "lanes/structure/structure.h"
#include "support/models/eager_reference.h"

namespace esper::test::structure_preparer_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using leyline::SeedOperation;
using leyline::Stage;

namespace {

struct Preparing {
  LaneCase c;
  std::string slot, blueprint;
};

}  // namespace

TEST_CASE("a germination with a dry run runs its first step in the fast lane, with eager's bits") {
  at::set_num_threads(1);
  EagerReference reference;
  GrowingPrepared ahead(Lane::kReplay);
  step_both(reference, ahead, 6);
  ahead.prepare({germinates("r0c1", "mlp")});
  CHECK(ahead.count_events("tolaria.growth_prepared") == 1);
  const auto eager_steps = ahead.steps_in(Lane::kEager), replayed = ahead.steps_in(Lane::kReplay);
  grow_both(reference, ahead, "r0c1", "mlp");
  step_both(reference, ahead, 5);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
  CHECK(ahead.steps_in(Lane::kReplay) == replayed + 5);
}

TEST_CASE("a failure to prepare a structure is reported and the run goes on, unless the GPU is lost") {
  at::set_num_threads(1);
  GrowingPrepared ahead(Lane::kReplay);
  ahead.steps(6);
  const std::string late = "CUDA error: an illegal memory access was encountered";
  ahead.scratch_model_failure = std::make_exception_ptr(std::runtime_error("it cannot be built"));
  ahead.prepare({germinates("r0c1", "mlp")});
  CHECK(ahead.count_events("tolaria.growth_unprepared") == 1);
  ahead.scratch_model_failure = std::make_exception_ptr(std::runtime_error(late));
  CHECK_THROWS_WITH(ahead.prepare({germinates("r0c0", "mlp")}), late);
  CHECK(ahead.count_events("tolaria.growth_unprepared") == 1);
}

TEST_CASE("a copied block and a widened one are prepared like any seed") {
  at::set_num_threads(1);
  const auto [c, slot, blueprint] = GENERATE(Preparing{growing_decoder_case(0), "r0c0", "copy_block"},
                                             Preparing{growing_wide_case(config::HostKind::kMlp), "r0c1", "widen"},
                                             Preparing{growing_wide_case(config::HostKind::kCnn), "r0c1", "widen"});
  EagerReference reference(c);
  GrowingPrepared ahead(Lane::kReplay, nullptr, c);
  step_both(reference, ahead, 6);
  ahead.prepare({germinates(slot, blueprint)});
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  grow_both(reference, ahead, slot, blueprint);
  step_both(reference, ahead, 5);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
}

TEST_CASE("copies that are germinated at once are prepared together") {
  at::set_num_threads(1);
  const LaneCase c = growing_decoder_case(0);
  EagerReference reference(c);
  GrowingPrepared ahead(Lane::kReplay, nullptr, c);
  step_both(reference, ahead, 6);
  lanes::LikelyChange both = germinates("r0c0", "copy_block*2");
  both.together = {germinates("r0c1", "copy_block*2")};
  ahead.prepare({both});
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  CHECK(ahead.count_events("tolaria.growth_prepared") == 1);
  apply_both(reference, ahead, {ahead.germination("r0c0", "copy_block*2"), ahead.germination("r0c1", "copy_block*2")});
  step_both(reference, ahead, 5);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
}

TEST_CASE("a seed that is germinated and trains in the shadow at once is prepared as such") {
  at::set_num_threads(1);
  LaneCase c = growing_case();
  c.config.growth.training = config::SeedTraining::kShadow;
  EagerReference reference(c);
  GrowingPrepared ahead(Lane::kReplay, nullptr, c);
  step_both(reference, ahead, 6);
  ahead.prepare({germinates("r0c1", "mlp")});
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  apply_both(reference, ahead,
             {ahead.germination("r0c1", "mlp"), ahead.command(SeedOperation::kStartTraining, "seed-0001")});
  step_both(reference, ahead, 5);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
}

TEST_CASE("an unprepared germination starts in eager, and so does one of another blueprint") {
  at::set_num_threads(1);
  for (const auto& likely : {std::vector<lanes::LikelyChange>{}, {germinates("r0c1", "lora")}}) {
    EagerReference reference;
    GrowingPrepared ahead(Lane::kReplay);
    step_both(reference, ahead, 6);
    ahead.prepare(likely);
    const auto eager_steps = ahead.steps_in(Lane::kEager);
    grow_both(reference, ahead, "r0c1", "mlp");
    step_both(reference, ahead, 1);
    CHECK(ahead.steps_in(Lane::kEager) == eager_steps + 1);
    step_both(reference, ahead, 5);
  }
}

TEST_CASE("a dry run changes no tensor and no random number of the run") {
  at::set_num_threads(1);
  EagerReference reference;
  GrowingPrepared ahead(Lane::kReplay);
  step_both(reference, ahead, 6);
  const auto before = copies_of(*ahead.model);
  ahead.prepare({germinates("r0c0", "mlp")});
  ahead.prepare({germinates("r0c2", "lora")});
  CHECK(ahead.count_events("tolaria.growth_prepared") == 2);
  CHECK(first_difference(before, copies_of(*ahead.model)) == "");
  step_both(reference, ahead, 6);  // what was foreseen does not come
  CHECK(ahead.steps_in(Lane::kEager) == 3);
}

TEST_CASE("the likeliest structure gets the first dry run, and none gets two") {
  at::set_num_threads(1);
  GrowingPrepared ahead(Lane::kReplay);
  ahead.steps(6);
  const std::vector<lanes::LikelyChange> likely = {germinates("r0c0", "mlp"), germinates("r0c1", "mlp")};
  ahead.prepare({likely.front()});
  CHECK(ahead.count_events("tolaria.growth_prepared") == 1);
  for (int i = 0; i < 2; ++i) {
    ahead.prepare(likely);
    CHECK(ahead.count_events("tolaria.growth_prepared") == 2);
  }
}

TEST_CASE("prune and fossilise get a dry run too, and a former structure needs none") {
  at::set_num_threads(1);
  EagerReference reference;
  GrowingPrepared ahead(Lane::kReplay);
  step_both(reference, ahead, 6);
  ahead.prepare({germinates("r0c1", "mlp")});
  grow_both(reference, ahead, "r0c1", "mlp");
  step_both(reference, ahead, 3);
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  ahead.prepare({{SeedOperation::kCull, {}, {}, "seed-0001"}});  // the host alone is known
  CHECK(ahead.count_events("tolaria.growth_prepared") == 1);
  issue_both(reference, ahead, SeedOperation::kCull, "seed-0001");
  step_both(reference, ahead, 3);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);

  // The same blueprint at the same slot again, under another name.
  for (int epoch = 0; epoch < 4; ++epoch) {
    reference.eager.end_epoch(reference.eager.good_facts());
    ahead.end_epoch(ahead.good_facts());
  }
  grow_both(reference, ahead, "r0c1", "mlp");
  CHECK(ahead.stage("seed-0002") == Stage::kGerminated);
  step_both(reference, ahead, 3);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);

  ahead.prepare({{SeedOperation::kFossilize, {}, {}, "seed-0002"}});
  CHECK(ahead.count_events("tolaria.growth_prepared") == 2);
}

TEST_CASE("a shadow gets a dry run before it begins, and its end needs none") {
  at::set_num_threads(1);
  LaneCase c = growing_case();
  c.config.growth.training = config::SeedTraining::kShadow;
  EagerReference reference(c);
  GrowingPrepared ahead(Lane::kReplay, nullptr, c);
  step_both(reference, ahead, 6);
  ahead.prepare({germinates("r0c1", "mlp")});
  grow_both(reference, ahead, "r0c1", "mlp");
  step_both(reference, ahead, 3);
  ahead.prepare({{SeedOperation::kStartTraining, {}, {}, "seed-0001"}});
  CHECK(ahead.count_events("tolaria.growth_prepared") == 1);  // with the germination, after which it trains at once
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  const auto without = lanes::structure_of(*ahead.model);
  issue_both(reference, ahead, SeedOperation::kStartTraining, "seed-0001");
  CHECK(lanes::structure_of(*ahead.model) != without);
  step_both(reference, ahead, 3);
  reference.eager.end_epoch(reference.eager.good_facts());
  ahead.end_epoch(ahead.good_facts());
  issue_both(reference, ahead, SeedOperation::kStartGrafting, "seed-0001");
  CHECK(lanes::structure_of(*ahead.model) == without);
  step_both(reference, ahead, 3);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
}

TEST_CASE("a structure's text contains what a program depends on, and not the number of earlier seeds") {
  GrowingModel first, second;
  const auto host = lanes::structure_of(*first.model);
  first.apply(first.germination("r0c1", "mlp"));
  const auto grown = lanes::structure_of(*first.model);
  second.apply(second.germination("r0c1", "mlp"));
  second.apply(second.command(SeedOperation::kCull, "seed-0001"));
  CHECK(lanes::structure_of(*second.model) == host);
  for (int epoch = 0; epoch < 4; ++epoch) second.end_epoch(second.good_facts());
  REQUIRE_FALSE(GrowingModel::refused(second.apply(second.germination("r0c1", "mlp"))));
  CHECK(lanes::structure_of(*second.model) == grown);
  CHECK(grown != host);
  second.apply(second.germination("r0c2", "mlp"));
  CHECK(lanes::structure_of(*second.model) != grown);
}

TEST_CASE("in auto a structure with a dry run uses the lane that was measured to be faster, without a trial") {
  at::set_num_threads(1);
  EagerReference reference;
  GrowingPrepared ahead(Lane::kAuto);
  step_both(reference, ahead, 140);
  REQUIRE(ahead.runner->figures().in_use == Lane::kReplay);
  ahead.prepare({germinates("r0c1", "mlp")});
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  grow_both(reference, ahead, "r0c1", "mlp");
  step_both(reference, ahead, 30);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
}

TEST_CASE("an impossible change is reported and tried once") {
  at::set_num_threads(1);
  GrowingPrepared ahead(Lane::kReplay);
  ahead.steps(6);
  for (int i = 0; i < 3; ++i) ahead.prepare({germinates("r0c1", "no such thing")});
  CHECK(ahead.count_events("tolaria.growth_unprepared") == 1);
  ahead.prepare({germinates("r0c1", "mlp")});
  CHECK(ahead.count_events("tolaria.growth_prepared") == 1);
}

TEST_CASE("the first steps after a change are reported with their cost") {
  at::set_num_threads(1);
  GrowingPrepared ahead(Lane::kReplay);
  ahead.steps(6);
  ahead.prepare({germinates("r0c1", "mlp")});
  ahead.change(ahead.germination("r0c1", "mlp"));
  while (ahead.number < 100 && ahead.runner->structure_changes().watch().is_on()) {
    ahead.steps(1);
    ahead.runner->structure_changes().watch().record_step_time(std::chrono::milliseconds(ahead.number == 8 ? 5 : 2));
  }
  CHECK(ahead.number == 26);
  const auto swapped = std::ranges::find(ahead.events, "tolaria.growth_swapped", &leyline::TelemetryEvent::description);
  REQUIRE(swapped != ahead.events.end());
  CHECK(swapped->attributes.at("prepared") == "true");
  CHECK(swapped->attributes.at("lane") == "replay");
  CHECK(std::stod(swapped->attributes.at("prepare_ms")) > 0);
  const auto& figures = ahead.runner->figures();
  CHECK(std::abs(figures.stall_ms - 3 - figures.swap_us / 1e3) < 1e-9);
}

TEST_CASE("likely changes: cull and fossilise growing seeds, then germinate in free slots, within the budget") {
  lanes::GrowthForecast growth_forecast;
  growth_forecast.slots = {{"r0c0", Stage::kDormant, {"lora", "mlp"}},
                           {"r0c1", Stage::kTraining, {"mlp"}},
                           {"r0c2", Stage::kEmbargoed, {"mlp"}},
                           {"r0c3", Stage::kTerminated, {}}};
  leyline::SeedState seed;
  seed.seed_id = "seed-0003";
  seed.stage = Stage::kTraining;
  growth_forecast.seeds = {seed};
  growth_forecast.max_seeds = 2;
  CHECK((lanes::likely_changes(growth_forecast, 2) ==
         std::vector<lanes::LikelyChange>{{SeedOperation::kCull, {}, {}, "seed-0003"}, germinates("r0c0", "lora")}));
  growth_forecast.seeds.front().stage = Stage::kProbationary;
  const std::vector<lanes::LikelyChange> all = {{SeedOperation::kCull, {}, {}, "seed-0003"},
                                                {SeedOperation::kFossilize, {}, {}, "seed-0003"},
                                                germinates("r0c0", "lora"),
                                                germinates("r0c2", "mlp")};
  CHECK((lanes::likely_changes(growth_forecast, 9) == all));
  CHECK(lanes::likely_changes(growth_forecast, 3).size() == 3);
  CHECK(lanes::likely_changes(growth_forecast, 0).empty());
  growth_forecast.max_seeds = 1;
  CHECK(lanes::likely_changes(growth_forecast, 9).size() == 2);
  growth_forecast.in_shadow = true;
  CHECK(lanes::likely_changes(growth_forecast, 9).size() == 2);
  for (const auto& [stage, operation] : {std::pair(Stage::kGerminated, SeedOperation::kStartTraining),
                                         std::pair(Stage::kTraining, SeedOperation::kStartGrafting)}) {
    growth_forecast.seeds.front().stage = stage;
    CHECK((lanes::likely_changes(growth_forecast, 1) ==
           std::vector<lanes::LikelyChange>{{operation, {}, {}, "seed-0003"}}));
  }
  growth_forecast.in_shadow = false;
  growth_forecast.max_seeds = 2;
  seed.stage = Stage::kProbationary;
  growth_forecast.seeds = {seed, seed};
  growth_forecast.seeds.back().seed_id = "seed-0004";
  const lanes::LikelyChange fourth{SeedOperation::kFossilize, {}, {}, "seed-0004"};
  const lanes::LikelyChange both{SeedOperation::kFossilize, {}, {}, "seed-0003", {fourth}};
  CHECK(lanes::likely_changes(growth_forecast, 9).at(1) == both);
  growth_forecast.stays = true;
  for (auto& one : growth_forecast.seeds) one.stage = Stage::kTraining;
  CHECK(lanes::likely_changes(growth_forecast, 9).at(0) == both);
  CHECK(lanes::likely_changes(growth_forecast, 9).at(1) ==
        lanes::LikelyChange{SeedOperation::kCull, {}, {}, "seed-0003"});
  growth_forecast.stays = false;
  CHECK(lanes::describe(both) == "FOSSILIZE seed-0003 with FOSSILIZE seed-0004");

  growth_forecast.seeds.clear();
  const auto wants_two = [](const std::vector<leyline::SlotState>&, const std::string&) {
    lanes::LikelyChange two = germinates("r0c0", "mlp");
    two.together = {germinates("r0c2", "mlp")};
    return two;
  };
  CHECK(lanes::likely_changes(growth_forecast, 9, wants_two).at(0).together.size() == 1);
  growth_forecast.max_seeds = 1;
  CHECK(lanes::likely_changes(growth_forecast, 9, wants_two).at(0).together.empty());

  const auto asks = [](const std::vector<leyline::SlotState>& free, const std::string& state) {
    CHECK(state == "{}");
    return germinates(free.back().slot, "mlp");
  };
  growth_forecast.policy_state = "{}";
  CHECK((lanes::likely_changes(growth_forecast, 9, asks) == std::vector{germinates("r0c2", "mlp")}));
}

TEST_CASE("with probed attribution the prepared step of two seeds is taken at once, with eager's bits") {
  at::set_num_threads(1);
  LaneCase c = growing_case();
  c.config.growth.aggregation.attribution = config::Attribution::kProbe;
  c.config.growth.max_seeds = 2;
  c.config.step.accumulation = 2;
  EagerReference reference(c);
  GrowingPrepared ahead(Lane::kReplay, nullptr, c);
  step_both(reference, ahead, 6);
  for (const auto* slot : {"r0c0", "r0c1"}) {
    ahead.prepare({germinates(slot, "mlp")});
    const auto eager_steps = ahead.steps_in(Lane::kEager);
    grow_both(reference, ahead, slot, "mlp");
    step_both(reference, ahead, 4);
    CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
  }
  CHECK(ahead.count_events("tolaria.growth_unprepared") == 0);
  CHECK(ahead.model->state.aggregation.num_seeds == 2);
  CHECK(ahead.model->state.aggregation.steps.item<std::int64_t>() == 4);
}

TEST_CASE("after a fossil folded into the host, the host's own program runs the next step, with eager's bits") {
  at::set_num_threads(1);
  EagerReference reference;
  GrowingPrepared ahead(Lane::kReplay);
  const auto live = [&] {
    for (int epoch = 0; epoch < 4; ++epoch) {
      reference.eager.end_epoch(reference.eager.good_facts());
      ahead.end_epoch(ahead.good_facts());
    }
  };
  step_both(reference, ahead, 6);
  grow_both(reference, ahead, "r0c1", "linear");
  for (const auto operation : {SeedOperation::kStartTraining, SeedOperation::kStartGrafting, SeedOperation::kStabilize,
                               SeedOperation::kEvaluate}) {
    step_both(reference, ahead, 5);
    live();
    issue_both(reference, ahead, operation, "seed-0001");
  }
  live();
  step_both(reference, ahead, 2);
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  const auto prepared = ahead.count_events("tolaria.growth_prepared");
  ahead.prepare({{SeedOperation::kFossilize, {}, {}, "seed-0001"}});
  CHECK(ahead.count_events("tolaria.growth_prepared") == prepared);  // what it leads to is known
  issue_both(reference, ahead, SeedOperation::kFossilize, "seed-0001");
  CHECK(ahead.model->network.parameter_groups().size() == 1);
  step_both(reference, ahead, 4);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);

  // What grows on the folded host is foreseen like on the host.
  ahead.prepare({germinates("r0c0", "mlp")});
  grow_both(reference, ahead, "r0c0", "mlp");
  step_both(reference, ahead, 4);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
}

TEST_CASE("with one program for all batch sizes a structure with a dry run is ready for each size of the run") {
  at::set_num_threads(1);
  LaneCase c = growing_case();
  c.config.step.compile.dynamic = true;
  constexpr std::int64_t kShorter = 5;
  GrowingPrepared reference(Lane::kEager, nullptr, c), ahead(Lane::kReplay, nullptr, c);
  const auto both = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (GrowingPrepared* each : {&reference, &ahead}) {
        each->steps(2);
        each->step_of(kShorter);
      }
    }
    CHECK(first_difference(copies_of(*reference.model), copies_of(*ahead.model)) == "");
  };
  both(5);
  ahead.prepare({germinates("r0c1", "mlp")});
  CHECK(ahead.count_events("tolaria.growth_prepared") == 1);
  const auto eager_steps = ahead.steps_in(Lane::kEager);
  for (GrowingPrepared* each : {&reference, &ahead}) {
    REQUIRE_FALSE(GrowingModel::refused(each->change(each->germination("r0c1", "mlp"))));
  }
  both(2);
  CHECK(ahead.steps_in(Lane::kEager) == eager_steps);
}

}  // namespace esper::test::structure_preparer_test
