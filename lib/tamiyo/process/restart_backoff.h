#pragma once
// How long a process that was lost is not started again: the first time not at all, then twice as long with each loss
// that follows without a good answer between. A state machine as data: `now` is a monotonic time.

#include "base/clock.h"

namespace esper::tamiyo {

struct RestartBackoff {
  int losses = 0;               // in a row
  base::Duration not_before{};  // monotonic
};

inline constexpr base::Duration kFirstPause = std::chrono::milliseconds(100);
inline constexpr base::Duration kLongestPause = std::chrono::minutes(1);

void record_loss(RestartBackoff& backoff, base::Duration now);
inline void record_answer(RestartBackoff& backoff) { backoff = {}; }

}  // namespace esper::tamiyo
