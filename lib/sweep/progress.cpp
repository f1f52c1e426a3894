#include "sweep/progress.h"

#include <cmath>
#include <limits>

namespace esper::sweep {

bool is_better(double value, double than, Goal goal) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value) && std::isnan(than);
  return goal == Goal::kMaximize ? value > than : value < than;
}

std::optional<double> rung_result(const ConfigurationProgress& progress, std::size_t rung) {
  if (progress.seeds.empty() || rung > progress.rung) return std::nullopt;
  double sum = 0;
  bool is_complete = true;
  for (const SeedProgress& seed : progress.seeds) {
    if (rung < seed.results.size()) {
      sum += seed.results[rung];
    } else if (seed.state == SeedProgress::State::kFailed) {
      return std::numeric_limits<double>::quiet_NaN();
    } else {
      is_complete = false;
    }
  }
  if (!is_complete) return std::nullopt;
  const double mean = sum / static_cast<double>(progress.seeds.size());
  return std::isfinite(mean) ? mean : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace esper::sweep
