#include "program/trial.h"

#include <algorithm>

namespace esper::program {

Contender Trial::turn() const {
  const std::size_t steps = times_[0].size() + times_[1].size();
  return steps / kStepsPerTurn % 2 == 0 ? Contender::kIncumbent : Contender::kChallenger;
}

void Trial::note(base::Duration duration) { times_[static_cast<std::size_t>(turn())].push_back(duration); }

base::Duration Trial::median(Contender contender) const {
  std::vector<base::Duration> times = times_[static_cast<std::size_t>(contender)];
  if (times.empty()) return {};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double Trial::speedup() const {
  const auto challenger = median(Contender::kChallenger).count();
  return challenger > 0 ? static_cast<double>(median(Contender::kIncumbent).count()) / static_cast<double>(challenger)
                        : 0;
}

}  // namespace esper::program
