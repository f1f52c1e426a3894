#include "base/clock.h"

#include <fmt/core.h>

#include <thread>

namespace esper::base {

void ManualTime::advance(Duration by) { now_.fetch_add(by.count()); }

Duration Clock::now() const {
  if (manual_) return manual_->now();
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

Duration Clock::wall() const {
  if (manual_) return manual_->wall();
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
}

void Clock::sleep(Duration length) const {
  if (manual_) {
    manual_->advance(length);
  } else {
    std::this_thread::sleep_for(length);
  }
}

std::string rfc3339(Duration wall) {
  using std::chrono::days;
  using std::chrono::microseconds;
  const auto day = std::chrono::floor<days>(std::chrono::sys_time<Duration>(wall));
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<microseconds> time(std::chrono::floor<microseconds>(wall - day.time_since_epoch()));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

}  // namespace esper::base
