#include "tamiyo/process/restart_backoff.h"

#include <algorithm>

namespace esper::tamiyo {

void record_loss(RestartBackoff& backoff, base::Duration now) {
  auto pause = base::Duration(0);
  for (int loss = 0; loss < backoff.losses && pause < kLongestPause; ++loss) {
    pause = pause == base::Duration(0) ? kFirstPause : std::min(2 * pause, kLongestPause);
  }
  ++backoff.losses;
  backoff.not_before = now + pause;
}

}  // namespace esper::tamiyo
