#include "tamiyo/service/circuit_breaker.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::tamiyo::circuit_breaker_test {
namespace {

using std::chrono::milliseconds;
constexpr BreakerSettings kSettings{.failure_threshold = 3, .success_threshold = 2, .open_time = milliseconds(100)};

CircuitBreaker opened_at(base::Duration now) {
  CircuitBreaker breaker;
  for (int i = 0; i < 3; ++i) record_failure(breaker, kSettings, now);
  return breaker;
}

}  // namespace

TEST_CASE("the breaker opens at the third failure in a row, and a success resets the count") {
  CircuitBreaker breaker;
  record_failure(breaker, kSettings, milliseconds(1));
  record_failure(breaker, kSettings, milliseconds(2));
  CHECK(breaker.state == BreakerState::kClosed);
  record_success(breaker, kSettings);
  CHECK(breaker.failures == 0);
  for (int i = 0; i < 2; ++i) record_failure(breaker, kSettings, milliseconds(3));
  CHECK(may_call(breaker));
  record_failure(breaker, kSettings, milliseconds(4));
  CHECK(breaker.state == BreakerState::kOpen);
  CHECK(breaker.opened_at == milliseconds(4));
  CHECK_FALSE(may_call(breaker));
}

TEST_CASE("an open breaker lets a probe through once its time has passed, and not before") {
  auto breaker = opened_at(milliseconds(50));
  prepare_call(breaker, kSettings, milliseconds(149));
  CHECK_FALSE(may_call(breaker));
  prepare_call(breaker, kSettings, milliseconds(150));
  CHECK(breaker.state == BreakerState::kHalfOpen);
  CHECK(may_call(breaker));
}

TEST_CASE("half-open: enough successes close it, one failure opens it for the whole time again") {
  auto breaker = opened_at(milliseconds(0));
  prepare_call(breaker, kSettings, milliseconds(100));
  record_success(breaker, kSettings);
  CHECK(breaker.state == BreakerState::kHalfOpen);
  record_failure(breaker, kSettings, milliseconds(120));
  CHECK(breaker.state == BreakerState::kOpen);
  prepare_call(breaker, kSettings, milliseconds(219));
  CHECK(breaker.state == BreakerState::kOpen);
  prepare_call(breaker, kSettings, milliseconds(220));
  record_success(breaker, kSettings);
  CHECK(breaker.state == BreakerState::kHalfOpen);
  record_success(breaker, kSettings);
  CHECK(breaker == CircuitBreaker{});
}

}  // namespace esper::tamiyo::circuit_breaker_test
