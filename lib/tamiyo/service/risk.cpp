#include "tamiyo/service/risk.h"

#include <fmt/core.h>

#include "leyline/telemetry/telemetry.h"

namespace esper::tamiyo {
namespace {

using leyline::Level;
using leyline::TelemetryEvent;
using namespace leyline::literals;
using Inputs = RiskInputs;
using Limits = RiskThresholds;
using Figure = std::optional<double>;

template <auto kHandle>
TelemetryEvent measured_event(const Verdict& verdict) {
  return leyline::event(
      kHandle, verdict.level,
      {{"measured", fmt::format("{:.6g}", verdict.measured)}, {"threshold", fmt::format("{:.6g}", verdict.threshold)}});
}

// The name is the trainer's, too.
TelemetryEvent conflict_event(const Verdict& verdict) {
  return leyline::event("grad_conflict_high"_event, verdict.level,
                        {{"conflict_ratio", fmt::format("{:.6g}", verdict.measured)}});
}

constexpr Verdict kStops{Change::kPause, Level::kCritical, ModeAfter::kConservative};
constexpr Verdict kAlarms{Change::kPause, Level::kWarning, ModeAfter::kConservative};
constexpr Verdict kPauses{Change::kPause, Level::kWarning};
constexpr Verdict kBlinds{Change::kPause, Level::kCritical};
constexpr Verdict kHolds{Change::kHoldGrowth, Level::kWarning};
constexpr Verdict kReports{Change::kNone, Level::kInfo};

Figure of_flag(bool is_set) { return is_set ? Figure(1) : std::nullopt; }
Figure of_growth(const Inputs& inputs, Figure figure) { return inputs.germinates ? figure : std::nullopt; }

bool is_beyond(double measured, Bound bound, double threshold) {
  switch (bound) {
    case Bound::kAbove:
      return measured > threshold;
    case Bound::kAtLeast:
      return measured >= threshold;
    case Bound::kAtMost:
      return measured <= threshold;
    case Bound::kBelow:
      return measured < threshold;
  }
  return false;
}

constexpr RiskRule kRules[] = {
    {"policy_risk_critical", "the policy's risk >= {}", [](const Inputs& in, const Limits&) { return in.policy_risk; },
     Bound::kAtLeast, &Limits::critical_risk, kStops, measured_event<"policy_risk_critical"_event>},
    {"policy_risk_signal", "the policy's risk >= {}, and it does not germinate",
     [](const Inputs& in, const Limits& limits) {
       return of_flag(!in.germinates && in.policy_risk < limits.critical_risk) ? in.policy_risk : std::nullopt;
     },
     Bound::kAtLeast, &Limits::elevated_risk, kReports, measured_event<"policy_risk_signal"_event>},
    {"policy_risk_elevated", "the policy's risk >= {}, and it germinates",
     [](const Inputs& in, const Limits&) { return of_growth(in, in.policy_risk); }, Bound::kAtLeast,
     &Limits::elevated_risk, kHolds, measured_event<"policy_risk_elevated"_event>},
    {kConservativeReason, "conservative mode was entered by an earlier evaluation",
     [](const Inputs& in, const Limits&) { return of_flag(in.is_conservative); }, Bound::kAbove, nullptr, kPauses,
     nullptr},
    {"timeout_inference", "the policy did not answer before its deadline",
     [](const Inputs& in, const Limits&) { return in.late_ms; }, Bound::kAtLeast, &Limits::deadline_ms, kPauses,
     measured_event<"timeout_inference"_event>},
    {"loss_spike", "the validation loss rose by more than {} since the evaluation before",
     [](const Inputs& in, const Limits&) { return in.loss_delta; }, Bound::kAbove, &Limits::loss_spike, kAlarms,
     measured_event<"loss_spike"_event>},
    {"loss_warning", "it rose by more than {}, and the decision germinates",
     [](const Inputs& in, const Limits&) { return of_growth(in, in.loss_delta); }, Bound::kAbove, &Limits::loss_warning,
     kHolds, measured_event<"loss_warning"_event>},
    {"hook_budget", "the last decision with its commands took more than {} ms",
     [](const Inputs& in, const Limits&) { return in.hook_ms; }, Bound::kAbove, &Limits::hook_ms, kPauses,
     measured_event<"hook_budget"_event>},
    {"step_latency_high", "a training step takes more than {} ms",
     [](const Inputs& in, const Limits&) { return in.step_ms; }, Bound::kAbove, &Limits::step_ms, kPauses,
     measured_event<"step_latency_high"_event>},
    {"kasmina_apply_slow", "the last commands took more than {} ms, and the decision germinates",
     [](const Inputs& in, const Limits&) { return of_growth(in, in.apply_ms); }, Bound::kAbove, &Limits::apply_ms,
     kHolds, measured_event<"kasmina_apply_slow"_event>},
    {"isolation_violations", "an isolated seed's gradient reached the host",
     [](const Inputs& in, const Limits&) { return in.isolation_violations; }, Bound::kAbove, nullptr, kPauses,
     measured_event<"isolation_violations"_event>},
    {"device_pressure_high",
     "the GPU is nearly all in use, at most {} GB of it are free, and "
     "the decision germinates",
     [](const Inputs& in, const Limits& limits) {
       return of_growth(in, in.gpu_utilization_percent >= limits.gpu_utilization_percent ? in.gpu_free_gb : Figure());
     },
     Bound::kAtMost, &Limits::gpu_free_gb, kPauses, measured_event<"device_pressure_high"_event>},
    {"cpu_pressure_high", "the processors are in use at {} % or more, and the decision germinates",
     [](const Inputs& in, const Limits&) { return of_growth(in, in.cpu_utilization_percent); }, Bound::kAtLeast,
     &Limits::cpu_utilization_percent, kHolds, measured_event<"cpu_pressure_high"_event>},
    {"loss_volatility_high",
     "the training loss's standard deviation is above {}, the loss is not below its moving mean, and the decision "
     "germinates",
     [](const Inputs& in, const Limits&) {
       return of_growth(in, in.loss_above_mean.value_or(0) < 0 ? Figure() : in.loss_volatility);
     },
     Bound::kAbove, &Limits::loss_volatility, kHolds, measured_event<"loss_volatility_high"_event>},
    {"grad_variance_high", "the variance of the gradient's norm is above {}, and the decision germinates",
     [](const Inputs& in, const Limits&) { return of_growth(in, in.gradient_variance); }, Bound::kAbove,
     &Limits::gradient_variance, kHolds, measured_event<"grad_variance_high"_event>},
    {"grad_conflict_high", "more than {} of the gradients' pairs are in conflict, and the decision germinates",
     [](const Inputs& in, const Limits&) { return of_growth(in, in.gradient_conflict); }, Bound::kAbove,
     &Limits::gradient_conflict, kHolds, conflict_event},
    {"optimizer_hint", "the learning rate is 0 while the validation loss rises",
     [](const Inputs& in, const Limits&) { return in.loss_delta > 0.0 ? in.learning_rate : Figure(); }, Bound::kAtMost,
     nullptr, kReports, measured_event<"optimizer_hint"_event>},
    {"degraded_inputs", "the policy had at most {} of its inputs",
     [](const Inputs& in, const Limits&) { return in.coverage; }, Bound::kAtMost, &Limits::critical_coverage, kBlinds,
     measured_event<"degraded_inputs"_event>},
    {"degraded_inputs", "the policy had less than {} of its inputs",
     [](const Inputs& in, const Limits& limits) {
       return in.coverage > limits.critical_coverage ? in.coverage : Figure();
     },
     Bound::kBelow, &Limits::low_coverage, kReports, measured_event<"degraded_inputs"_event>},
};

}  // namespace

std::span<const RiskRule> risk_rules() { return kRules; }

std::optional<Verdict> judge(const RiskRule& rule, const RiskInputs& inputs, const RiskThresholds& thresholds) {
  const Figure measured = rule.measure(inputs, thresholds);
  const double threshold = rule.threshold == nullptr ? 0 : thresholds.*rule.threshold;
  if (!measured || !is_beyond(*measured, rule.bound, threshold)) return std::nullopt;
  Verdict verdict = rule.verdict;
  verdict.measured = *measured;
  verdict.threshold = threshold;
  return verdict;
}

RiskAssessment assess(RiskInputs inputs, const RiskThresholds& thresholds) {
  RiskAssessment result;
  for (const auto& rule : risk_rules()) {
    const auto verdict = judge(rule, inputs, thresholds);
    if (!verdict) continue;
    result.findings.push_back({&rule, *verdict});
    if (verdict->mode == ModeAfter::kConservative && !result.conservative) result.conservative = rule.reason;
    if (verdict->change > result.change) {
      result.change = verdict->change;
      result.reason = rule.reason;
    }
    if (result.change != Change::kNone) inputs.germinates = false;
  }
  return result;
}

}  // namespace esper::tamiyo
