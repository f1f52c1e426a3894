#include "tamiyo/service/service_settings.h"

#include <catch2/catch_test_macros.hpp>

#include "config/safety_config.h"

namespace esper::test::service_settings_test {

using namespace esper;
using namespace esper::tamiyo;

TEST_CASE("the run file's defaults are the service's") {
  const auto read = service_settings({}, config::SafetyConfig().policy_deadline);
  const ServiceSettings own;
  CHECK(read.breaker.failure_threshold == own.breaker.failure_threshold);
  CHECK(read.breaker.success_threshold == own.breaker.success_threshold);
  CHECK(read.breaker.open_time == own.breaker.open_time);
  CHECK(read.recovery_evaluations == own.recovery_evaluations);
  CHECK(read.reports.window_epochs == own.reports.window_epochs);
  for (const auto& rule : risk_rules()) {
    if (rule.threshold != nullptr) CHECK(read.risk.*rule.threshold == own.risk.*rule.threshold);
  }
}

TEST_CASE("each threshold of the run file has its rule") {
  config::PolicyConfig policy;
  auto& risk = policy.risk;
  risk.critical_risk = 1;
  risk.elevated_risk = 2;
  risk.loss_spike = 3;
  risk.loss_warning = 4;
  risk.hook_ms = 5;
  risk.step_ms = 6;
  risk.apply_ms = 7;
  risk.loss_volatility = 8;
  risk.gradient_variance = 9;
  risk.gradient_conflict = 10;
  risk.critical_coverage = 11;
  risk.low_coverage = 12;
  policy.breaker = {7, 8, std::chrono::seconds(9)};
  policy.reports.window_epochs = 5;
  const auto read = service_settings(policy, std::chrono::milliseconds(13));
  CHECK(read.risk.critical_risk == 1);
  CHECK(read.risk.elevated_risk == 2);
  CHECK(read.risk.loss_spike == 3);
  CHECK(read.risk.loss_warning == 4);
  CHECK(read.risk.hook_ms == 5);
  CHECK(read.risk.step_ms == 6);
  CHECK(read.risk.apply_ms == 7);
  CHECK(read.risk.loss_volatility == 8);
  CHECK(read.risk.gradient_variance == 9);
  CHECK(read.risk.gradient_conflict == 10);
  CHECK(read.risk.critical_coverage == 11);
  CHECK(read.risk.low_coverage == 12);
  CHECK(read.risk.deadline_ms == 13);
  CHECK(read.breaker.failure_threshold == 7);
  CHECK(read.breaker.success_threshold == 8);
  CHECK(read.breaker.open_time == std::chrono::seconds(9));
  CHECK(read.reports.window_epochs == 5);
}

}  // namespace esper::test::service_settings_test
