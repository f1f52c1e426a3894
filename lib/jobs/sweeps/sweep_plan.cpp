#include "jobs/sweeps/sweep_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/error.h"
#include "jobs/job/job_states.h"
#include "sweep/halving.h"

namespace esper::jobs {
namespace {

using sweep::ConfigurationProgress;
using Trials = std::vector<SweepTrial>;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

bool is_in_progress(const SweepTrial& trial) { return trial.state == JobState::kQueued || is_active(trial.state); }
bool has_reached(const SweepTrial& trial) { return trial.results.size() > trial.rung; }

// The user may have let a job begin, or cancelled it, before its sweep did. A job that runs again, to a rung that it
// reached before, has not reached it until it ends; nor has one that its user holds back before it runs again.
void follow_users(Trials& trials) {
  for (SweepTrial& trial : trials) {
    const bool waits = trial.state == JobState::kHeld || trial.state == JobState::kPaused;
    if (!waits) trial.turn = Turn::kBegun;
    const bool is_held_back = trial.state == JobState::kHeld && trial.turn == Turn::kBegun;
    if (is_in_progress(trial) || is_held_back) trial.results.resize(std::min(trial.results.size(), trial.rung));
  }
}

// A job that ended at a rung below the last one, as one that was cancelled there, keeps its results but does not go on.
sweep::SeedProgress seed_progress(const SweepTrial& trial, std::size_t last_rung) {
  using State = sweep::SeedProgress::State;
  sweep::SeedProgress progress{State::kRunning, trial.results};
  if (has_reached(trial) && (trial.rung == last_rung || !is_terminal(trial.state))) {
    progress.state = State::kReached;
  } else if (is_terminal(trial.state)) {
    progress.state = State::kFailed;
  }
  return progress;
}

std::vector<ConfigurationProgress> progress_in(const sweep::Sweep& sweep, const Trials& trials) {
  const std::size_t seeds = sweep.seeds.size();
  ESPER_CHECK(seeds > 0 && trials.size() % seeds == 0, "a sweep lacks jobs");
  const std::size_t last_rung = num_rungs(sweep) - 1;
  std::vector<ConfigurationProgress> progress(trials.size() / seeds);
  for (std::size_t at = 0; at < trials.size(); ++at) {
    ConfigurationProgress& one = progress[at / seeds];
    ESPER_CHECK(trials[at].configuration == at / seeds && trials[at].seed == at % seeds,
                "a sweep's jobs have an order");
    one.rung = trials[at].rung;
    if (trials[at].turn != Turn::kIdle || !one.seeds.empty()) one.seeds.push_back(seed_progress(trials[at], last_rung));
  }
  return progress;
}

// Jobs of which none has begun are a configuration that has not: then it has no seeds here. Where one has, so have all.
void begin_together(Trials& trials, std::size_t seeds) {
  for (auto first = trials.begin(); first != trials.end(); first += static_cast<std::ptrdiff_t>(seeds)) {
    const auto last = first + static_cast<std::ptrdiff_t>(seeds);
    if (std::all_of(first, last, [](const SweepTrial& trial) { return trial.turn == Turn::kIdle; })) continue;
    std::for_each(first, last, [](SweepTrial& trial) {
      if (trial.turn == Turn::kIdle) trial.turn = Turn::kDue;
    });
  }
}

// How many jobs may be queued besides those that are.
std::size_t free_places(const sweep::Sweep& sweep, const Trials& trials) {
  const auto most = static_cast<std::size_t>(sweep.settings.max_running);
  if (most == 0) return kNoLimit;
  const auto taken = static_cast<std::size_t>(std::ranges::count_if(trials, is_in_progress));
  return most - std::min(most, taken);
}

// Configurations that halving may name: those whose first jobs find a place behind the ones that are due already.
std::size_t most_decisions(std::size_t places, const Trials& trials, std::size_t seeds) {
  if (places == kNoLimit) return kNoLimit;
  const auto due = static_cast<std::size_t>(
      std::ranges::count_if(trials, [](const SweepTrial& trial) { return trial.turn == Turn::kDue; }));
  return places <= due ? 0 : (places - due + seeds - 1) / seeds;
}

void decide_halving(const sweep::Sweep& sweep, Trials& trials, std::size_t places) {
  using Kind = sweep::HalvingDecision::Kind;
  const std::size_t seeds = sweep.seeds.size();
  const auto progress = progress_in(sweep, trials);
  for (const auto& decision :
       sweep::decide(sweep::halving_rules(sweep), progress, most_decisions(places, trials, seeds))) {
    if (decision.kind == Kind::kKeepPaused) continue;
    for (std::size_t at = decision.configuration * seeds; at < (decision.configuration + 1) * seeds; ++at) {
      trials[at].turn = Turn::kDue;
      trials[at].rung = decision.rung;
    }
  }
}

// Those that go on come before those that begin, the highest rung first.
std::vector<JobId> first_due(const Trials& trials, std::size_t most) {
  std::vector<const SweepTrial*> due;
  for (const SweepTrial& trial : trials)
    if (trial.turn == Turn::kDue) due.push_back(&trial);
  std::ranges::stable_sort(due, std::greater<>(), [](const SweepTrial* trial) { return trial->rung; });
  if (due.size() > most) due.resize(most);
  std::vector<JobId> jobs;
  for (const SweepTrial* trial : due) jobs.push_back(trial->job);
  return jobs;
}

bool is_over(const SweepTrial& trial) {
  return trial.turn == Turn::kBegun && !is_in_progress(trial) && (has_reached(trial) || is_terminal(trial.state));
}

}  // namespace

std::size_t num_rungs(const sweep::Sweep& sweep) {
  return sweep.settings.method == sweep::Method::kHalving ? sweep::halving_rules(sweep).rungs.size() : 1;
}

std::int64_t epochs_of_rung(const sweep::Sweep& sweep, std::size_t rung) {
  return sweep.settings.method == sweep::Method::kHalving ? sweep::halving_rules(sweep).rungs.at(rung) : 0;
}

std::vector<ConfigurationProgress> progress_of(const sweep::Sweep& sweep, std::vector<SweepTrial> trials) {
  follow_users(trials);
  begin_together(trials, sweep.seeds.size());
  return progress_in(sweep, trials);
}

SweepPlan plan_sweep(const sweep::Sweep& sweep, std::vector<SweepTrial> trials) {
  const Trials stored = trials;
  follow_users(trials);
  begin_together(trials, sweep.seeds.size());
  const std::size_t places = free_places(sweep, trials);
  if (sweep.settings.method == sweep::Method::kHalving) decide_halving(sweep, trials, places);
  SweepPlan plan;
  for (std::size_t at = 0; at < trials.size(); ++at) {
    const SweepTrial& trial = trials[at];
    if (trial.turn == Turn::kDue && (stored[at].turn != Turn::kDue || stored[at].rung != trial.rung))
      plan.due.push_back({trial.job, trial.rung, epochs_of_rung(sweep, trial.rung)});
  }
  plan.begin = first_due(trials, places);
  plan.has_ended = std::ranges::all_of(trials, is_over);
  return plan;
}

}  // namespace esper::jobs
