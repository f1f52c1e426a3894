#include "base/ledger/step_times.h"

#include <cmath>

namespace esper::base {

double StepTimes::start_of(std::size_t bucket) {
  const std::size_t octave = bucket >> kBits;
  if (octave == 0) return static_cast<double>(bucket);
  return std::ldexp(static_cast<double>(bucket - ((octave - 1) << kBits)), static_cast<int>(octave) - 1);
}

double StepTimes::quantile(double share) const {
  if (total_ == 0) return 0;
  const double rank = std::clamp(share, 0.0, 1.0) * static_cast<double>(total_);
  double before = 0;
  for (std::size_t bucket = lowest_; bucket <= highest_; ++bucket) {
    const double count = counts_[bucket];
    if (count > 0 && before + count >= rank) {
      const double begin = start_of(bucket);
      return begin + (start_of(bucket + 1) - begin) * std::max(rank - before, 0.0) / count;
    }
    before += count;
  }
  return start_of(highest_ + 1);
}

void StepTimes::clear() {
  if (total_ == 0) return;
  std::fill(counts_.begin() + lowest_, counts_.begin() + highest_ + 1, 0);
  total_ = 0;
  lowest_ = kBuckets - 1;
  highest_ = 0;
}

StepQuantiles StepTimes::take(double ns) {
  const double us = ns / 1000;
  const StepQuantiles quantiles{total_, quantile(0.5) * us, quantile(0.95) * us};
  clear();
  return quantiles;
}

}  // namespace esper::base
