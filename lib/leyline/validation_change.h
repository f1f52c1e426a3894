#pragma once
// How validation changed from one window of epochs to the next, paired over the validation samples. Plain data, and
// what it shows at 95 %. Any thread.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/statistics.h"

namespace esper::leyline {

// The mean of the newest `after` epochs minus the mean of the `before` epochs ahead of those.
struct ValidationChange {
  std::uint32_t after = 0, before = 0;
  double loss = 0, points = 0;  // points: of accuracy, in percentage points
  // Of the samples' own changes; empty below two samples.
  std::optional<base::StandardError> loss_error = {}, points_error = {};
  // From how much the epochs' mean losses differ within the two windows; empty where neither holds two epochs.
  std::optional<base::StandardError> loss_swing = {};
};

// What the last `epochs` epochs changed, or the longest window of those that are known; null without any. changes: by
// `after`, 1 first.
inline const ValidationChange* change_over(std::span<const ValidationChange> changes, std::uint32_t epochs) {
  if (changes.empty() || epochs == 0) return nullptr;
  return &changes[std::min<std::size_t>(epochs, changes.size()) - 1];
}

inline base::Interval loss_interval(const ValidationChange& change) {
  const double half = change.loss_error ? base::half_width_95(*change.loss_error) : 0;
  return {change.loss - half, change.loss + half};
}

// The loss fell. Over the samples alone: a network that learns differs from epoch to epoch, which is no noise.
inline bool shows_improvement(const ValidationChange& change) { return loss_interval(change).high < 0; }

// The loss rose for these samples, which one bad epoch does.
inline bool shows_rise(const ValidationChange& change) { return loss_interval(change).low > 0; }

// The loss rose by more than the epochs differ anyway.
inline bool shows_lasting_rise(const ValidationChange& change) {
  constexpr base::StandardError kNone{0};
  const auto error = base::joined_error(change.loss_error.value_or(kNone), change.loss_swing.value_or(kNone));
  return change.loss - base::half_width_95(error) > 0;
}

}  // namespace esper::leyline
