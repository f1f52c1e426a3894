#include "engine/bench/rounds.h"

#include <algorithm>
#include <cmath>
#include <exception>

namespace esper::engine::bench {
namespace {

constexpr int kPilotSteps = 6, kFewestSteps = 3, kMostSteps = 5000;
constexpr double kPilotMs = 25;

// How many steps fill one round. Also warms caches and allocators up.
int steps_per_round(const Contender& contender, double round_ms) {
  std::vector<double> pilot;
  contender.run(kPilotSteps, pilot);
  double step_us = std::max(base::median(pilot), 0.1);
  pilot.clear();
  contender.run(std::clamp(static_cast<int>(kPilotMs * 1e3 / step_us), kFewestSteps, kMostSteps), pilot);
  step_us = std::max(base::median(pilot), 0.1);
  return std::clamp(static_cast<int>(std::lround(round_ms * 1e3 / step_us)), kFewestSteps, kMostSteps);
}

void run_round(const Contender& contender, int steps, Row& row) {
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(steps));
  contender.run(steps, times);
  row.round_medians.push_back(base::median(times));
  row.step_us.insert(row.step_us.end(), times.begin(), times.end());
}

template <class Work>
void unless_failed(Row& row, const Work& work) {
  if (!row.failure.empty()) return;
  try {
    work();
  } catch (const std::exception& error) {
    row.failure = error.what();
    if (row.failure.empty()) row.failure = "it failed without an error message";
  }
}

}  // namespace

std::vector<Row> take_turns(const std::vector<Contender>& contenders, const Plan& plan) {
  const std::size_t count = contenders.size();
  std::vector<Row> rows(count);
  std::vector<int> steps(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].name = contenders[i].name;
    rows[i].warmup_ms = contenders[i].warmup_ms;
    unless_failed(rows[i], [&] { steps[i] = steps_per_round(contenders[i], plan.round_ms); });
  }
  for (int round = 0; round < plan.rounds; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % count;
      unless_failed(rows[i], [&] { run_round(contenders[i], steps[i], rows[i]); });
    }
    if (plan.progress) plan.progress(round + 1, plan.rounds);
  }
  return rows;
}

base::RatioEstimate ratio(const Row& a, const Row& b) {
  const std::size_t pairs = std::min(a.round_medians.size(), b.round_medians.size());
  return base::paired_ratio(std::span(a.round_medians).first(pairs), std::span(b.round_medians).first(pairs));
}

}  // namespace esper::engine::bench
