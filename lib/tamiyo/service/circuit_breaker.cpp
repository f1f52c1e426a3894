#include "tamiyo/service/circuit_breaker.h"

namespace esper::tamiyo {

void prepare_call(CircuitBreaker& breaker, const BreakerSettings& settings, base::Duration now) {
  if (breaker.state != BreakerState::kOpen || now - breaker.opened_at < settings.open_time) return;
  breaker.state = BreakerState::kHalfOpen;
  breaker.successes = 0;
}

void record_success(CircuitBreaker& breaker, const BreakerSettings& settings) {
  if (breaker.state == BreakerState::kHalfOpen && ++breaker.successes < settings.success_threshold) return;
  breaker = {};
}

void record_failure(CircuitBreaker& breaker, const BreakerSettings& settings, base::Duration now) {
  ++breaker.failures;
  if (breaker.state == BreakerState::kClosed && breaker.failures < settings.failure_threshold) return;
  breaker.state = BreakerState::kOpen;
  breaker.successes = 0;
  breaker.opened_at = now;
}

}  // namespace esper::tamiyo
