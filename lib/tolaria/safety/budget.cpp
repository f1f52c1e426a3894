#include "tolaria/safety/budget.h"

#include <algorithm>
#include <cstddef>

#include "base/text/rounding.h"

namespace esper::tolaria {
namespace {

constexpr std::size_t kTimesWindow = 20, kFewestTimes = 5;
constexpr double kTimesMedian = 3, kMoreMs = 1000;

}  // namespace

std::optional<double> Budget::limit_ms() const {
  if (given_ > base::Duration(0)) return base::milliseconds(given_);
  if (took_ms_.size() < kFewestTimes) return std::nullopt;
  auto sorted = took_ms_;
  std::ranges::sort(sorted);
  return kTimesMedian * sorted[sorted.size() / 2] + kMoreMs;
}

std::optional<double> Budget::exceeded(double took_ms) {
  const auto limit = limit_ms();
  took_ms_.push_back(took_ms);
  if (took_ms_.size() > kTimesWindow) took_ms_.erase(took_ms_.begin());
  return limit && took_ms > *limit ? limit : std::nullopt;
}

}  // namespace esper::tolaria
