#include "tamiyo/decision/masks.h"

#include <catch2/catch_test_macros.hpp>

#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::masks_test {
namespace {

using leyline::Stage;
using Rows = std::vector<int>;

Masks masks_with(const DecidedRun& run, int max_seeds = 4) { return masks_of(run.candidates, run.now, max_seeds); }

}  // namespace

TEST_CASE("free slots may germinate, growing seeds may be advanced, culled and cancelled") {
  const auto masks = masks_with({});
  CHECK(masks.targets_of(Action::kGerminate) == Rows{1, 2});
  CHECK(masks.targets_of(Action::kAdvance) == Rows{0});
  CHECK(masks.targets_of(Action::kCull) == Rows{0});
  CHECK(masks.targets_of(Action::kCancel) == Rows{0});
  CHECK(masks.allows(Action::kWait));
}

TEST_CASE("nothing germinates where no room is left, the run bars it, or the run is over") {
  DecidedRun run;
  CHECK(masks_with(run, 1).targets_of(Action::kGerminate).empty());
  CHECK(masks_with(run, 2).targets_of(Action::kGerminate) == Rows{1, 2});
  run.now.germination_barred = "another seed is compared with its control";
  CHECK_FALSE(masks_with(run).allows(Action::kGerminate));
  run.now.germination_barred.clear();
  run.now.is_last = true;
  CHECK_FALSE(masks_with(run).allows(Action::kGerminate));
}

TEST_CASE("a slot that is taken, resting, unknown or fits nothing cannot germinate") {
  DecidedRun run;
  run.candidates.fits[1].clear();
  CHECK(masks_with(run).targets_of(Action::kGerminate) == Rows{2});
  run.now.slots[2].stage = Stage::kEmbargoed;
  CHECK_FALSE(masks_with(run).allows(Action::kGerminate));
  DecidedRun other;
  other.candidates.seeds[1].slot = "r9c9";
  other.candidates.fits.resize(2);  // row 2 has none
  CHECK_FALSE(masks_with(other).allows(Action::kGerminate));
}

TEST_CASE(
    "a fossil, an unknown seed and the run's end leave nothing to do with a seed, but a probationary one may end") {
  DecidedRun run;
  run.now.seed_states[0].stage = Stage::kFossilized;
  CHECK_FALSE(masks_with(run).allows(Action::kAdvance));
  CHECK_FALSE(masks_with(run).allows(Action::kCull));
  run.now.seed_states[0].stage = Stage::kBlending;
  run.now.is_last = true;
  CHECK_FALSE(masks_with(run).allows(Action::kAdvance));
  CHECK_FALSE(masks_with(run).allows(Action::kCull));
  run.now.seed_states[0].stage = Stage::kProbationary;
  CHECK(masks_with(run).allows(Action::kAdvance));
  run.candidates.seeds[0].seed_id = "seed-0002";
  CHECK_FALSE(masks_with(run).allows(Action::kAdvance));
}

TEST_CASE("a seed that has not begun to be blended in cannot be blended out") {
  DecidedRun run;
  run.now.seed_states[0].figures.alpha = 0;
  CHECK_FALSE(masks_with(run).allows(Action::kCancel));
  CHECK(masks_with(run).allows(Action::kCull));
}

}  // namespace esper::tamiyo::masks_test
