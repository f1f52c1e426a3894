#pragma once
// Time in ticks, which are read in some 10 ns: of the processor's counter where that runs at a constant rate;
// elsewhere, and on a manual clock, a tick is a nanosecond of the clock. How long a tick takes is known from the
// monotonic clock once some time has passed. One thread.

#include <cstdint>

#include "base/clock.h"

namespace esper::base {

class TickClock {
 public:
  explicit TickClock(Clock clock);

  std::uint64_t read() const {
#if defined(__x86_64__)
    if (counter_) return __builtin_ia32_rdtsc();
#endif
    return static_cast<std::uint64_t>(clock_.now().count());
  }
  // The monotonic clock's.
  Duration now() const { return clock_.now(); }

  // When the object was made, by both.
  std::uint64_t made_ticks() const { return made_ticks_; }
  Duration made_at() const { return made_at_; }

  // `ticks` and `at` were read at the same time: what a tick took on average since the object was made.
  double ns_per_tick(std::uint64_t ticks, Duration at) const;
  // As the last calibrate() found it.
  double ns_per_tick() const { return ns_per_tick_; }
  void calibrate(std::uint64_t ticks, Duration at);
  // From made_at() until then; as exact as the last calibrate() made it. Never decreases with `ticks`.
  Duration since_made(std::uint64_t ticks) const;

 private:
  Clock clock_;
  bool counter_;  // ticks are the processor's
  std::uint64_t made_ticks_;
  Duration made_at_;
  double ns_per_tick_ = 1;
};

}  // namespace esper::base
