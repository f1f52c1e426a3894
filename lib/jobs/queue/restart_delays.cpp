#include "jobs/queue/restart_delays.h"

#include <algorithm>

namespace esper::jobs {

void RestartDelays::add(JobId job, base::Duration delay) {
  if (delay.count() > 0) until_[job] = std::chrono::steady_clock::now() + delay;
}

void RestartDelays::update() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(until_, [&](const auto& entry) { return entry.second <= now; });
  if (until_.empty()) return;
  timer_.expires_at(std::ranges::min_element(until_, {}, [](const auto& entry) { return entry.second; })->second);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) over_();
  });
}

}  // namespace esper::jobs
