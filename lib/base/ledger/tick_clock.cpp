#include "base/ledger/tick_clock.h"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace esper::base {
namespace {

// The counter runs at one rate in every power state: constant_tsc and nonstop_tsc in /proc/cpuinfo (AMD64 manual volume
// 3, CPUID function 8000_0007h, EDX bit 8).
bool has_steady_counter() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

}  // namespace

TickClock::TickClock(Clock clock)
    : clock_(std::move(clock)),
      counter_(!clock_.is_manual() && has_steady_counter()),
      made_ticks_(read()),
      made_at_(clock_.now()) {}

double TickClock::ns_per_tick(std::uint64_t ticks, Duration at) const {
  if (ticks <= made_ticks_) return ns_per_tick_;
  return static_cast<double>((at - made_at_).count()) / static_cast<double>(ticks - made_ticks_);
}

void TickClock::calibrate(std::uint64_t ticks, Duration at) {
  if (at > made_at_) ns_per_tick_ = ns_per_tick(ticks, at);
}

Duration TickClock::since_made(std::uint64_t ticks) const {
  const auto passed = static_cast<double>(std::max(ticks, made_ticks_) - made_ticks_);
  return Duration(static_cast<std::int64_t>(passed * ns_per_tick_));
}

}  // namespace esper::base
