#pragma once
#include <chrono>

#include "base/quantity.h"
#include "config/field.h"

namespace esper::config {

// When a policy that fails is no longer asked.
struct BreakerConfig {
  int failure_threshold = 3;
  int success_threshold = 1;
  base::Duration open_time = std::chrono::milliseconds(100);

  template <class = void>
  static constexpr auto fields() {
    using C = BreakerConfig;
    return std::tuple{field("failure_threshold", &C::failure_threshold,
                            "failures in a row after which the policy is not asked for a while", between(1, 1e6)),
                      field("success_threshold", &C::success_threshold,
                            "answers in a row after which it is trusted again", between(1, 1e6)),
                      field("open_time", &C::open_time, "how long it is not asked")};
  }
  void validate(Findings& out) const;
};

// What holds a decision back; docs/policy_rules.md lists the rules.
struct RiskConfig {
  double critical_risk = 0.98, elevated_risk = 0.85;
  double loss_spike = 0.15, loss_warning = 0.075;
  double hook_ms = 50, step_ms = 120, apply_ms = 30;
  double loss_volatility = 0.1125, gradient_variance = 1, gradient_conflict = 0.5;
  double critical_coverage = 0.10, low_coverage = 0.30;
  bool judge_times = false;

  template <class = void>
  static constexpr auto fields() {
    using C = RiskConfig;
    return std::tuple{
        field("critical_risk", &C::critical_risk,
              "estimated risk from which the policy pauses; default: at least elevated_risk", between(0, 1)),
        field("elevated_risk", &C::elevated_risk,
              "estimated risk from which nothing is germinated; default: at most critical_risk", between(0, 1)),
        field("loss_spike", &C::loss_spike,
              "rise of the validation loss above which the policy pauses; default: at least loss_warning",
              between(0, 1e9)),
        field("loss_warning", &C::loss_warning,
              "rise of the validation loss above which nothing is germinated; default: at most loss_spike",
              between(0, 1e9)),
        field("hook_ms", &C::hook_ms, "time of the last decision with its commands above which the policy pauses",
              between(0, 1e9)),
        field("step_ms", &C::step_ms, "time of a training step above which the policy pauses", between(0, 1e9)),
        field("apply_ms", &C::apply_ms, "time of the last commands above which nothing is germinated", between(0, 1e9)),
        field("loss_volatility", &C::loss_volatility,
              "standard deviation of the training loss above which nothing is germinated", between(0, 1e9)),
        field("gradient_variance", &C::gradient_variance,
              "variance of the gradient's norm above which nothing is germinated", between(0, 1e9)),
        field("gradient_conflict", &C::gradient_conflict,
              "share of the pairs of seeds' gradients in conflict above which nothing is germinated", between(0, 1)),
        field("critical_coverage", &C::critical_coverage,
              "share of its inputs up to which the policy pauses; default: at most low_coverage", between(0, 1)),
        field("low_coverage", &C::low_coverage,
              "share of its inputs below which an event reports it; default: at least critical_coverage",
              between(0, 1)),
        field("judge_times", &C::judge_times,
              "apply hook_ms, step_ms and apply_ms; a resumed run may then decide differently")};
  }
  void validate(Findings& out) const;
};

// What is observed of a command that was carried out.
struct ReportsConfig {
  int window_epochs = 1;

  template <class = void>
  static constexpr auto fields() {
    using C = ReportsConfig;
    return std::tuple{
        field("window_epochs", &C::window_epochs, "epochs over which a command is observed", between(1, 1e6))};
  }
};

}  // namespace esper::config
