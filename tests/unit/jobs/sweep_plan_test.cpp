#include "jobs/sweeps/sweep_plan.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

namespace esper::test::sweep_plan_test {

using namespace esper;
using namespace esper::jobs;

namespace {

using S = JobState;

sweep::Sweep sweep_with(sweep::Method method, std::size_t seeds, int max_running = 0) {
  sweep::Sweep made;
  made.settings.method = method;
  made.settings.halving = {.min_epochs = 1, .factor = 2, .max_epochs = 4};
  made.settings.max_running = max_running;
  for (std::size_t seed = 0; seed < seeds; ++seed) made.seeds.push_back(seed);
  return made;
}

// Jobs from 1 on, as they are submitted.
std::vector<SweepTrial> trials_for(const sweep::Sweep& sweep, std::size_t configurations) {
  const Turn turn = sweep.settings.method == sweep::Method::kHalving ? Turn::kIdle : Turn::kDue;
  std::vector<SweepTrial> trials;
  for (std::size_t at = 0; at < configurations * sweep.seeds.size(); ++at) {
    trials.push_back({.job = static_cast<JobId>(at + 1),
                      .configuration = at / sweep.seeds.size(),
                      .seed = at % sweep.seeds.size(),
                      .turn = turn});
  }
  return trials;
}

void begin(SweepTrial& trial, JobState state) {
  trial.turn = Turn::kBegun;
  trial.state = state;
}

void reach(SweepTrial& trial, double result, JobState state = S::kPaused) {
  begin(trial, state);
  trial.results.push_back(result);
}

}  // namespace

TEST_CASE("without halving and without a limit all jobs begin at once") {
  const auto grid = sweep_with(sweep::Method::kGrid, 2);
  const auto plan = plan_sweep(grid, trials_for(grid, 2));
  CHECK(plan.due.empty());
  CHECK(plan.begin == std::vector<JobId>{1, 2, 3, 4});
  CHECK(!plan.has_ended);
}

TEST_CASE("max_running counts queued and active jobs, not those that wait for the user") {
  const auto grid = sweep_with(sweep::Method::kGrid, 1, 2);
  auto trials = trials_for(grid, 6);
  CHECK(plan_sweep(grid, trials).begin == std::vector<JobId>{1, 2});
  begin(trials[0], S::kQueued);
  begin(trials[1], S::kStopping);
  CHECK(plan_sweep(grid, trials).begin.empty());
  begin(trials[1], S::kPaused);
  CHECK(plan_sweep(grid, trials).begin == std::vector<JobId>{3});
  reach(trials[0], 1, S::kSucceeded);
  CHECK(plan_sweep(grid, trials).begin == std::vector<JobId>{3, 4});
}

TEST_CASE("a sweep has ended when each job has a result or has failed") {
  const auto grid = sweep_with(sweep::Method::kGrid, 1);
  auto trials = trials_for(grid, 3);
  reach(trials[0], 1, S::kSucceeded);
  begin(trials[1], S::kFailed);
  begin(trials[2], S::kPaused);  // by the user
  CHECK(!plan_sweep(grid, trials).has_ended);
  trials[2].state = S::kCancelled;
  CHECK(plan_sweep(grid, trials).has_ended);
  trials[1].state = S::kQueued;  // retried
  CHECK(!plan_sweep(grid, trials).has_ended);
}

TEST_CASE("a job that its user cancelled before its turn does not begin") {
  const auto grid = sweep_with(sweep::Method::kGrid, 1);
  auto trials = trials_for(grid, 2);
  trials[0].state = S::kCancelled;
  CHECK(plan_sweep(grid, trials).begin == std::vector<JobId>{2});
}

TEST_CASE("halving starts all configurations at the first rung, and lets the best go on to the next") {
  const auto halving = sweep_with(sweep::Method::kHalving, 1);
  auto trials = trials_for(halving, 4);
  auto plan = plan_sweep(halving, trials);
  CHECK(plan.begin == std::vector<JobId>{1, 2, 3, 4});
  CHECK(plan.due.size() == 4);
  CHECK(plan.due[0] == SweepStep{1, 0, 1});
  for (SweepTrial& trial : trials) begin(trial, S::kRunning);
  reach(trials[0], 0.1);
  CHECK(plan_sweep(halving, trials).begin.empty());
  reach(trials[3], 0.9);
  plan = plan_sweep(halving, trials);
  CHECK(plan.due == std::vector<SweepStep>{{4, 1, 2}});
  CHECK(plan.begin == std::vector<JobId>{4});
  // As it is stored, the same is not decided again; it only waits for its place.
  trials[3].rung = 1;
  trials[3].turn = Turn::kDue;
  plan = plan_sweep(halving, trials);
  CHECK(plan.due.empty());
  CHECK(plan.begin == std::vector<JobId>{4});
}

TEST_CASE("with halving a sweep ends with its last rung, and what was not promoted stays paused") {
  const auto halving = sweep_with(sweep::Method::kHalving, 1);
  auto trials = trials_for(halving, 2);
  reach(trials[0], 0.5);
  reach(trials[1], 0.7);
  CHECK(!plan_sweep(halving, trials).has_ended);
  trials[1].rung = 1;
  trials[1].state = S::kRunning;
  CHECK(!plan_sweep(halving, trials).has_ended);
  reach(trials[1], 0.8);
  CHECK(plan_sweep(halving, trials).has_ended);  // the only one at its rung: half of one is none
}

TEST_CASE("a job that runs to its rung once more has not reached it before it ends") {
  const auto halving = sweep_with(sweep::Method::kHalving, 1);
  auto trials = trials_for(halving, 2);
  reach(trials[0], 0.5);
  reach(trials[1], 0.7, S::kQueued);  // resumed by the user
  const auto plan = plan_sweep(halving, trials);
  CHECK(plan.due.empty());
  CHECK(!plan.has_ended);
}

TEST_CASE("with fewer places than seeds a configuration still begins, seed by seed") {
  const auto halving = sweep_with(sweep::Method::kHalving, 3, 2);
  auto trials = trials_for(halving, 2);
  auto plan = plan_sweep(halving, trials);
  CHECK(plan.due.size() == 3);
  CHECK(plan.begin == std::vector<JobId>{1, 2});
  begin(trials[0], S::kQueued);
  reach(trials[1], 0.5);
  trials[2].turn = Turn::kDue;
  plan = plan_sweep(halving, trials);
  CHECK(plan.due.empty());  // the third seed has the free place
  CHECK(plan.begin == std::vector<JobId>{3});
}

TEST_CASE("those that go on come before those that begin") {
  const auto halving = sweep_with(sweep::Method::kHalving, 1, 1);
  auto trials = trials_for(halving, 4);
  reach(trials[0], 0.5);
  reach(trials[1], 0.7);
  CHECK(plan_sweep(halving, trials).begin == std::vector<JobId>{2});
}

TEST_CASE("a seed that failed, or has no figure, keeps its configuration from going on") {
  const auto halving = sweep_with(sweep::Method::kHalving, 2);
  auto trials = trials_for(halving, 2);
  reach(trials[0], 0.9);
  SECTION("failed") { begin(trials[1], S::kFailed); }
  SECTION("no figure") { reach(trials[1], std::numeric_limits<double>::quiet_NaN()); }
  reach(trials[2], 0.1);
  reach(trials[3], 0.1);
  const auto plan = plan_sweep(halving, trials);
  CHECK(plan.due == std::vector<SweepStep>{{3, 1, 2}, {4, 1, 2}});
}

TEST_CASE("a job that its user cancelled at its rung does not go on, and takes no place of those that do") {
  SECTION("one seed") {
    const auto halving = sweep_with(sweep::Method::kHalving, 1);
    auto trials = trials_for(halving, 2);
    reach(trials[0], 0.9, S::kCancelled);
    reach(trials[1], 0.1);
    CHECK(plan_sweep(halving, trials).due == std::vector<SweepStep>{{2, 1, 2}});
    const auto progress = progress_of(halving, trials);
    CHECK(progress[0].seeds[0].state == sweep::SeedProgress::State::kFailed);
    CHECK(progress[0].seeds[0].results == std::vector<double>{0.9});  // as the table shows it
    trials[1].state = S::kCancelled;
    const auto plan = plan_sweep(halving, trials);
    CHECK(plan.due.empty());
    CHECK(plan.has_ended);
  }
  SECTION("one of two seeds") {
    const auto halving = sweep_with(sweep::Method::kHalving, 2);
    auto trials = trials_for(halving, 2);
    reach(trials[0], 0.9);
    reach(trials[1], 0.9, S::kCancelled);
    reach(trials[2], 0.1);
    reach(trials[3], 0.1);
    CHECK(plan_sweep(halving, trials).due == std::vector<SweepStep>{{3, 1, 2}, {4, 1, 2}});
  }
  SECTION("retried, it is one of them again") {
    const auto halving = sweep_with(sweep::Method::kHalving, 1);
    auto trials = trials_for(halving, 2);
    reach(trials[0], 0.9, S::kQueued);
    reach(trials[1], 0.1);
    CHECK(plan_sweep(halving, trials).due.empty());
    trials[0].state = S::kPaused;
    CHECK(plan_sweep(halving, trials).due == std::vector<SweepStep>{{1, 1, 2}});
  }
}

TEST_CASE("a job that reached the last rung has a result as all that succeeded") {
  const auto halving = sweep_with(sweep::Method::kHalving, 1);
  auto trials = trials_for(halving, 2);
  trials[0].rung = 2;
  trials[0].results = {0.5, 0.6};
  reach(trials[0], 0.7, S::kSucceeded);
  reach(trials[1], 0.1);
  CHECK(progress_of(halving, trials)[0].seeds[0].state == sweep::SeedProgress::State::kReached);
  CHECK(plan_sweep(halving, trials).has_ended);
}

TEST_CASE("a job that its user resumed at its rung and holds back is its user's until it has run again") {
  const auto halving = sweep_with(sweep::Method::kHalving, 1);
  auto trials = trials_for(halving, 2);
  reach(trials[0], 0.9, S::kHeld);
  reach(trials[1], 0.1);
  const auto plan = plan_sweep(halving, trials);
  CHECK(plan.due.empty());
  CHECK(plan.begin.empty());
  CHECK(!plan.has_ended);
}

TEST_CASE("progress: a configuration without a begun job has no seeds; each other has all") {
  const auto halving = sweep_with(sweep::Method::kHalving, 2);
  auto trials = trials_for(halving, 2);
  begin(trials[2], S::kQueued);  // by the user
  const auto progress = progress_of(halving, trials);
  REQUIRE(progress.size() == 2);
  CHECK(progress[0].seeds.empty());
  CHECK(progress[1].seeds.size() == 2);
}

}  // namespace esper::test::sweep_plan_test
