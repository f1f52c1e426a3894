#include "tolaria/safety/governor.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::governor_test {

using namespace esper::tolaria;

namespace {

TrainingFailure nonfinite_step(std::int64_t step) {
  return {FailureKind::kNonfiniteStep, step, "host.weight is not finite"};
}
TrainingFailure out_of_memory(std::int64_t step) { return {FailureKind::kOutOfMemory, step, "out of memory"}; }
TrainingFailure nonfinite_range(std::int64_t step) {
  return {FailureKind::kNonfiniteRange, step, "a loss", false, step + 9};
}
TrainingFailure bad_epoch(std::int64_t step) { return {FailureKind::kBadEpoch, step, "the loss is not finite"}; }

Reaction react(SafetyRecord& record, const TrainingFailure& failure, const ReactionLimits& limits) {
  const auto next = next_reaction(failure, record, limits);
  CHECK(next.number == record.reactions + 1);
  CHECK(next.step == failure.step);
  if (next.reaction != Reaction::kStop) record.apply(next);
  return next.reaction;
}

}  // namespace

TEST_CASE("steps are passed over, then the rate is lowered, then the run stops") {
  config::SafetyConfig config;
  config.most_skipped_steps = 2;
  config.most_rate_cuts = 1;
  SafetyRecord record;
  for (const std::int64_t step : {40, 47}) CHECK(react(record, nonfinite_step(step), {config}) == Reaction::kSkipStep);
  CHECK(record.skips_step(40));
  CHECK(record.failures_before(99) == 0);
  CHECK_FALSE(record.skips_step(41));
  CHECK(react(record, nonfinite_step(50), {config}) == Reaction::kLowerRate);
  CHECK(record.rate_factor(49) == 1);
  CHECK(record.rate_factor(50) == 0.5);
  CHECK(react(record, nonfinite_step(50), {config}) == Reaction::kStop);
}

TEST_CASE("a step that a compiled program ran is compared with eager before it is passed over, three times an epoch") {
  config::SafetyConfig config;
  SafetyRecord record;
  const auto compiled = [](std::int64_t step, bool is_of_data = false) {
    TrainingFailure failure = nonfinite_step(step);
    failure.ran_compiled = true;
    failure.is_of_data = is_of_data;
    return failure;
  };
  CHECK(react(record, compiled(40), {config}) == Reaction::kCompareStep);
  CHECK(record.compares_step(40));
  CHECK_FALSE(record.skips_step(40));
  CHECK(react(record, nonfinite_step(40), {config}) == Reaction::kSkipStep);  // eager ran it in the comparison
  CHECK_FALSE(record.compares_step(40));
  CHECK(react(record, compiled(41, true), {config}) == Reaction::kSkipStep);
  for (int times = 0; times < 3; ++times)  // the journal had it run compiled again
    CHECK(react(record, compiled(44), {config}) == Reaction::kCompareStep);
  CHECK(react(record, compiled(44), {config}) == Reaction::kLowerRate);
  CHECK(record.failures_before(99) == 1);
  record.end_epoch(60);
  CHECK_FALSE(record.compares_step(44));
  CHECK(react(record, compiled(70), {config}) == Reaction::kCompareStep);
  CHECK(react(record, compiled(75), {config, 1, true, 75}) == Reaction::kCompareStep);
  config.most_skipped_steps = config.most_rate_cuts = 0;
  SafetyRecord none;
  CHECK(react(none, compiled(40), {config}) == Reaction::kStop);
}

TEST_CASE("a program is suspected where it ran the step, or some step of those of which one is not finite") {
  config::SafetyConfig config;
  SafetyRecord record;
  TrainingFailure step = nonfinite_step(40), range = nonfinite_range(40);
  CHECK_FALSE(suspects_program(step, record, {config}));
  CHECK_FALSE(suspects_program(range, record, {config}));
  step.ran_compiled = range.ran_compiled = true;
  CHECK(suspects_program(step, record, {config}));
  CHECK(suspects_program(range, record, {config}));
  record.searches = 3;
  CHECK_FALSE(suspects_program(range, record, {config}));
  config.most_skipped_steps = config.most_rate_cuts = 0;
  CHECK_FALSE(suspects_program(step, record, {config}));
}

TEST_CASE("a run that does not compute in fp32 goes on in it before it stops, once") {
  const config::SafetyConfig config;
  const ReactionLimits limits{config, 8, false};
  SafetyRecord record;
  const std::vector<Reaction> expected{Reaction::kLowerRate, Reaction::kLowerRate, Reaction::kFullPrecision,
                                       Reaction::kStop};
  for (const Reaction reaction : expected) CHECK(react(record, bad_epoch(60), limits) == reaction);
  CHECK(record.full_precision);
  CHECK(record.failures_before(61) == 3);
}

TEST_CASE("where memory runs out microbatches are halved as long as they can be") {
  const config::SafetyConfig config;
  const ReactionLimits limits{config, 7};
  SafetyRecord record;
  CHECK(record.parts_at(9) == 1);
  CHECK(react(record, out_of_memory(9), limits) == Reaction::kSplitBatches);
  CHECK(record.parts_at(8) == 1);
  CHECK(record.parts_at(9) == 2);
  CHECK(react(record, out_of_memory(9), limits) == Reaction::kSplitBatches);
  CHECK(record.parts_at(9) == 4);
  CHECK(react(record, out_of_memory(9), limits) == Reaction::kSplitBatches);
  CHECK(record.parts_at(9) == 7);  // single samples
  CHECK(react(record, out_of_memory(9), limits) == Reaction::kStop);
  CHECK(record.failures_before(99) == 0);
  record.end_epoch(20);
  CHECK(record.splits.empty());
  CHECK(record.parts_at(20) == 7);
}

TEST_CASE("an epoch that ends well clears the counts, and keeps the lower rate") {
  const config::SafetyConfig config;
  SafetyRecord record;
  CHECK(react(record, nonfinite_step(40), {config}) == Reaction::kSkipStep);
  CHECK(react(record, nonfinite_step(43), {config}) == Reaction::kSkipStep);
  CHECK(react(record, nonfinite_step(45), {config}) == Reaction::kLowerRate);
  CHECK(react(record, nonfinite_step(45), {config}) == Reaction::kLowerRate);
  CHECK(record.rate_factor(45) == 0.25);
  record.end_epoch(60);
  CHECK(record.skipped_steps.empty());
  CHECK(record.rate_factor(60) == 0.25);
  CHECK(record.failures_before(99) == 0);
  CHECK(react(record, nonfinite_step(70), {config}) == Reaction::kSkipStep);
}

TEST_CASE("a step is looked for three times; if it is never there the rate is lowered, then the run stops") {
  config::SafetyConfig config;
  config.most_rate_cuts = 1;
  SafetyRecord record;
  for (const std::int64_t step : {40, 43, 43})
    CHECK(react(record, nonfinite_range(step), {config}) == Reaction::kSearch);
  CHECK(record.searches == 3);
  CHECK(record.search_until == 52);
  CHECK(record.failures_before(99) == 0);
  CHECK(react(record, nonfinite_range(44), {config}) == Reaction::kLowerRate);
  CHECK(record.rate_factor(43) == 1);
  CHECK(record.rate_factor(44) == 0.5);
  CHECK(record.failures_before(45) == 1);
  for (int search = 0; search < 3; ++search) CHECK(react(record, nonfinite_range(45), {config}) == Reaction::kSearch);
  CHECK(react(record, nonfinite_range(45), {config}) == Reaction::kStop);
}

TEST_CASE("searches that found a step, and those of epochs that ended well, do not count") {
  const config::SafetyConfig config;
  SafetyRecord record;
  for (const std::int64_t step : {40, 47}) {
    for (int search = 0; search < 3; ++search)
      CHECK(react(record, nonfinite_range(step), {config}) == Reaction::kSearch);
    CHECK(react(record, nonfinite_step(step), {config}) == Reaction::kSkipStep);
    CHECK(record.searches == 0);
  }
  for (int search = 0; search < 3; ++search) CHECK(react(record, nonfinite_range(50), {config}) == Reaction::kSearch);
  record.end_epoch(56);  // one on the way to where the failure was noticed
  CHECK(record.searches == 3);
  CHECK(record.search_until == 59);
  record.end_epoch(60);
  CHECK(react(record, nonfinite_range(70), {config}) == Reaction::kSearch);
  CHECK(record.searches == 1);
}

TEST_CASE("searches of different epochs are not in a row, also where the run takes them from its journal") {
  const config::SafetyConfig config;
  SafetyRecord record, resumed;  // resumed: from a checkpoint before all of them
  for (const std::int64_t step : {40, 60, 80}) {
    const auto next = next_reaction(nonfinite_range(step), record, {config});
    REQUIRE(next.reaction == Reaction::kSearch);
    CHECK(next.in_a_row == 1);
    record.apply(next);
    resumed.apply(next);
    CHECK(record.searches == 1);
    CHECK(resumed.searches == 1);
    record.end_epoch(step + 20);
  }
  CHECK(react(resumed, nonfinite_range(80), {config}) == Reaction::kSearch);
  CHECK(resumed.searches == 2);
}

TEST_CASE("reactions to steps of a later epoch, known from the journal, do not count before it") {
  const config::SafetyConfig config;
  SafetyRecord record;
  record.apply({1, Reaction::kSkipStep, 90, 0});
  record.apply({2, Reaction::kSkipStep, 95, 0});
  CHECK(react(record, nonfinite_step(40), {config, 8, true, 60}) == Reaction::kSkipStep);
  record.apply({4, Reaction::kLowerRate, 97, 0.5});
  record.end_epoch(60);
  CHECK(record.failures_before(97) == 0);
  CHECK(record.failures_before(98) == 1);
  CHECK(record.skips_step(90));
  CHECK(react(record, nonfinite_step(99), {config}) == Reaction::kLowerRate);
  CHECK(record.failures_before(100) == 2);
  record.end_epoch(120);
  CHECK(record.failures_before(121) == 0);
}

TEST_CASE("with nothing allowed a run stops at once, in any precision") {
  config::SafetyConfig config;
  config.most_skipped_steps = config.most_rate_cuts = 0;
  SafetyRecord record;
  CHECK(react(record, nonfinite_step(3), {config, 8, false}) == Reaction::kStop);
  CHECK(react(record, bad_epoch(3), {config, 8, false}) == Reaction::kStop);
  CHECK(react(record, nonfinite_range(3), {config, 8, false}) == Reaction::kStop);
}

TEST_CASE("only what changes how steps are computed, or undoes epochs, needs a checkpoint") {
  CHECK_FALSE(needs_checkpoint(nonfinite_step(1), {1, Reaction::kSkipStep, 1, 0}));
  CHECK_FALSE(needs_checkpoint(nonfinite_step(1), {1, Reaction::kLowerRate, 1, 0.5}));
  CHECK_FALSE(needs_checkpoint(nonfinite_range(1), {1, Reaction::kSearch, 1, 10}));
  CHECK_FALSE(needs_checkpoint(nonfinite_range(1), {1, Reaction::kLowerRate, 1, 0.5}));
  CHECK(needs_checkpoint(nonfinite_range(1), {1, Reaction::kFullPrecision, 1, 0}));
  CHECK(needs_checkpoint(nonfinite_step(1), {1, Reaction::kFullPrecision, 1, 0}));
  CHECK(needs_checkpoint(out_of_memory(1), {1, Reaction::kSplitBatches, 1, 2}));
  CHECK(needs_checkpoint(bad_epoch(1), {1, Reaction::kLowerRate, 1, 0.5}));
}

}  // namespace esper::test::governor_test
