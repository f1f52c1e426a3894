#include "tamiyo/service/service_settings.h"

#include "base/text/rounding.h"

namespace esper::tamiyo {

namespace {

BreakerSettings breaker_settings(const config::BreakerConfig& breaker) {
  return {breaker.failure_threshold, breaker.success_threshold, breaker.open_time};
}

RiskThresholds risk_thresholds(const config::RiskConfig& risk) {
  RiskThresholds thresholds;
  thresholds.critical_risk = risk.critical_risk;
  thresholds.elevated_risk = risk.elevated_risk;
  thresholds.loss_spike = risk.loss_spike;
  thresholds.loss_warning = risk.loss_warning;
  thresholds.hook_ms = risk.hook_ms;
  thresholds.step_ms = risk.step_ms;
  thresholds.apply_ms = risk.apply_ms;
  thresholds.loss_volatility = risk.loss_volatility;
  thresholds.gradient_variance = risk.gradient_variance;
  thresholds.gradient_conflict = risk.gradient_conflict;
  thresholds.critical_coverage = risk.critical_coverage;
  thresholds.low_coverage = risk.low_coverage;
  return thresholds;
}

}  // namespace

ServiceSettings service_settings(const config::PolicyConfig& policy, base::Duration deadline) {
  ServiceSettings settings;
  settings.breaker = breaker_settings(policy.breaker);
  settings.risk = risk_thresholds(policy.risk);
  settings.risk.deadline_ms = base::milliseconds(deadline);
  settings.recovery_evaluations = policy.recovery_evaluations;
  settings.reports.window_epochs = static_cast<std::uint32_t>(policy.reports.window_epochs);
  return settings;
}

}  // namespace esper::tamiyo
