#include "simic/imitation/fate.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/simic_imitation/taught_run.h"

namespace esper::test::fate_test {

using namespace esper;
using namespace esper::simic;
using leyline::Stage;

namespace {

// A germination after epoch 5, and what is seen `every` so many epochs: its seed has these stages; kUnknown: it is
// gone.
history::DecisionLog log_with(const std::vector<Stage>& stages, std::uint32_t every = 1) {
  std::vector<history::DecisionEntry> entries = {entry_after(5, {germinate("r0c1", "norm")})};
  for (const Stage stage : stages) {
    const auto age = every * static_cast<std::uint32_t>(entries.size());
    entries.push_back(entry_after(5 + age, {}));
    if (stage == Stage::kUnknown) continue;
    leyline::SeedState seed;
    seed.seed_id = "seed-0009";
    seed.slot = "r0c1";
    seed.blueprint = "norm";
    seed.stage = stage;
    seed.age_epochs = age;
    entries.back().record.observation.seed_states.push_back(seed);
  }
  return log_of(std::move(entries));
}

Target germinated() {
  Target target;
  target.action = tamiyo::Action::kGerminate;
  target.slot = target.blueprint = 0;
  return target;
}

Target with_hindsight(const history::DecisionLog& log, Target target) {
  const tamiyo::Candidates candidates{{{"", "r0c1", Stage::kDormant}}, {"norm"}, {{0}}};
  add_hindsight(log, 0, candidates, target);
  return target;
}

}  // namespace

TEST_CASE("a germination whose seed becomes part of the host was harmless") {
  const auto target = with_hindsight(log_with({Stage::kTraining, Stage::kBlending, Stage::kFossilized}), germinated());
  CHECK(target.risk == 0);
}

TEST_CASE("a germination whose seed is removed was harmful") {
  CHECK(with_hindsight(log_with({Stage::kTraining, Stage::kCulled}), germinated()).risk == tamiyo::kRiskLevels - 1);
  CHECK(with_hindsight(log_with({Stage::kTraining, Stage::kUnknown}), germinated()).risk == tamiyo::kRiskLevels - 1);
}

TEST_CASE("a germination whose seed is gone by the next decision, since its first epoch was undone, was harmful") {
  auto log = log_with({Stage::kUnknown});
  auto& next = log.entries.back().record.observation;
  const auto slot = std::ranges::find(next.slots, "r0c1", &leyline::SlotState::slot);
  REQUIRE(slot != next.slots.end());
  slot->stage = GENERATE(Stage::kCulled, Stage::kEmbargoed, Stage::kResetting);
  CHECK(with_hindsight(log, germinated()).risk == tamiyo::kRiskLevels - 1);
  SECTION("not where another seed was germinated there") {
    log.entries.front().record.carried_out.commands = {germinate("r0c1", "lora")};
    CHECK(!with_hindsight(log, germinated()).risk);
  }
  SECTION("nor where a fork left it out") {
    next.training_run_id = "fork";
    CHECK(!with_hindsight(log, germinated()).risk);
  }
  SECTION("nor where the slot is free: it may never have been germinated") {
    slot->stage = Stage::kDormant;
    CHECK(!with_hindsight(log, germinated()).risk);
  }
}

TEST_CASE("what becomes of a seed that grows at the end, or never was, is not known") {
  CHECK(!with_hindsight(log_with({Stage::kTraining, Stage::kBlending}), germinated()).risk);
  CHECK(!with_hindsight(log_with({Stage::kUnknown, Stage::kUnknown}), germinated()).risk);
  CHECK(!with_hindsight(log_with({}), germinated()).risk);
}

TEST_CASE("a policy that is asked every other epoch sees its seed two epochs later") {
  const auto log = log_with({Stage::kTraining, Stage::kBlending, Stage::kFossilized}, 2);
  CHECK(with_hindsight(log, germinated()).risk == 0);
}

TEST_CASE("a seed that a fork left out was not removed for what it did") {
  auto log = log_with({Stage::kTraining, Stage::kUnknown});
  log.entries.back().record.observation.training_run_id = "fork";
  CHECK(!with_hindsight(log, germinated()).risk);
}

TEST_CASE("to wait is harmless, and the value is what the run still gained") {
  const auto target = with_hindsight(log_with({Stage::kUnknown, Stage::kUnknown, Stage::kUnknown}), {});
  CHECK(target.risk == 0);
  CHECK(target.value == Catch::Approx(0.03));
}

}  // namespace esper::test::fate_test
