#include "base/clock.h"

#include <cstdio>
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
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text;
}

}  // namespace esper::base
