#pragma once
// Keeps a policy that fails again and again from being asked each time (Nygard: Release It!, 2007). A state machine as
// data: `now` is a monotonic time, of the injected clock. Any thread.
//
//   closed -- failure_threshold failures in a row --> open
//   open -- open_time has passed --> half-open: the next calls are probes
//   half-open -- success_threshold successes in a row --> closed; a failure --> open

#include <array>
#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace esper::tamiyo {

// Numbers are part of the telemetry contract.
enum class BreakerState : std::uint8_t { kClosed = 1, kOpen = 2, kHalfOpen = 3 };
constexpr auto names(BreakerState) {
  using S = BreakerState;
  return std::array{std::pair{S::kClosed, "CLOSED"}, std::pair{S::kOpen, "OPEN"}, std::pair{S::kHalfOpen, "HALF_OPEN"}};
}

struct BreakerSettings {
  int failure_threshold = 3;
  int success_threshold = 1;
  base::Duration open_time = std::chrono::milliseconds(100);
};

struct CircuitBreaker {
  BreakerState state = BreakerState::kClosed;
  int failures = 0;            // in a row
  int successes = 0;           // in a row, of probes
  base::Duration opened_at{};  // where it is open
  bool operator==(const CircuitBreaker&) const = default;
};

// Before each call; it may be made unless the breaker is then open.
void prepare_call(CircuitBreaker& breaker, const BreakerSettings& settings, base::Duration now);
inline bool may_call(const CircuitBreaker& breaker) { return breaker.state != BreakerState::kOpen; }
// After each call that was made.
void record_success(CircuitBreaker& breaker, const BreakerSettings& settings);
void record_failure(CircuitBreaker& breaker, const BreakerSettings& settings, base::Duration now);

}  // namespace esper::tamiyo
