#pragma once
// Time as a parameter: the machine's own, or one that a test moves by hand. Any thread.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "base/quantity.h"

namespace esper::base {

// Time that stands still until a test moves it.
class ManualTime {
 public:
  // `wall`: time since the UNIX epoch at which the clock starts; its monotonic time starts at 0.
  explicit ManualTime(Duration wall = Duration(0)) : wall_(wall.count()) {}
  void advance(Duration by);
  Duration now() const { return Duration(now_.load()); }
  Duration wall() const { return Duration(wall_ + now_.load()); }

 private:
  std::atomic<std::int64_t> now_{0};
  const std::int64_t wall_;  // at monotonic time 0
};

// Cheap to copy. The default one is the machine's.
class Clock {
 public:
  Clock() = default;
  explicit Clock(std::shared_ptr<ManualTime> manual) : manual_(std::move(manual)) {}

  bool is_manual() const { return manual_ != nullptr; }
  // Monotonic, from an arbitrary origin: for intervals and deadlines.
  Duration now() const;
  // Since the UNIX epoch: for time stamps.
  Duration wall() const;
  // Returns when `length` has passed. A manual clock is moved on by it, so that a test never waits.
  void sleep(Duration length) const;

  // Waits for `ready()`, at most until `deadline` (monotonic); true if it is ready. `lock` holds the mutex that guards
  // what ready() reads. On a manual clock the deadline passes when another thread moves the clock.
  template <class Ready>
  bool wait_until(std::condition_variable& signal, std::unique_lock<std::mutex>& lock, Duration deadline,
                  Ready ready) const {
    while (!ready()) {
      const Duration left = deadline - now();
      if (left <= Duration(0)) return ready();
      signal.wait_for(lock, manual_ ? std::min(left, kManualPoll) : left);
    }
    return true;
  }

 private:
  static constexpr Duration kManualPoll = std::chrono::microseconds(200);
  std::shared_ptr<ManualTime> manual_;  // empty: the machine's time
};

// RFC 3339 in UTC with microseconds: "2026-03-01T12:00:00.000000Z".
std::string rfc3339(Duration wall);

}  // namespace esper::base
