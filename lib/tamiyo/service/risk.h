#pragma once
// Whether a decision may be carried out: a table of rules over plain figures, asked in order. A rule says nothing, or
// what is to change. A value that was not measured triggers no rule. Pure functions. docs/policy_rules.md is
// generated from the table.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leyline/telemetry/telemetry_packet.h"

namespace esper::tamiyo {

// What is done to a decision. The later, the stronger.
enum class Change {
  kNone,
  kHoldGrowth,  // GERMINATE is left out; seeds that grow go on
  kPause,       // all commands are left out
};
constexpr auto names(Change) {
  using C = Change;
  return std::array{std::pair{C::kNone, "none"}, std::pair{C::kHoldGrowth, "hold_growth"},
                    std::pair{C::kPause, "pause"}};
}

enum class ModeAfter { kUnchanged, kConservative };

struct RiskInputs {
  bool germinates = false;                           // the decision has a GERMINATE
  bool is_conservative = false;                      // the mode was entered before
  std::optional<double> late_ms;                     // waited for an answer that did not come before the deadline
  std::optional<double> policy_risk;                 // 0..1, as the policy estimates it
  std::optional<double> coverage;                    // of the policy's inputs, 0..1
  std::optional<double> loss_delta;                  // validation loss minus that of the evaluation before
  std::optional<double> hook_ms, step_ms, apply_ms;  // the last policy call with its commands, a step, the commands
  std::optional<double> isolation_violations;
  std::optional<double> gpu_utilization_percent, gpu_free_gb, cpu_utilization_percent;
  std::optional<double> loss_volatility;    // standard deviation of the training loss
  std::optional<double> loss_above_mean;    // training loss minus its moving mean: negative while it falls
  std::optional<double> gradient_variance;  // of the gradient's norm
  std::optional<double> gradient_conflict;  // share of pairs of gradients in conflict
  std::optional<double> learning_rate;
};

struct RiskThresholds {
  double critical_risk = 0.98, elevated_risk = 0.85;
  double loss_spike = 0.15, loss_warning = 0.075;
  double deadline_ms = 2000;  // of an answer
  double hook_ms = 50, step_ms = 120, apply_ms = 30;
  double gpu_utilization_percent = 95, gpu_free_gb = 0.2, cpu_utilization_percent = 95;
  double loss_volatility = 0.1125, gradient_variance = 1, gradient_conflict = 0.5;
  double critical_coverage = 0.10, low_coverage = 0.30;
};

struct Verdict {
  Change change = Change::kNone;
  leyline::Level level = leyline::Level::kInfo;
  ModeAfter mode = ModeAfter::kUnchanged;
  double measured = 0, threshold = 0;
};

enum class Bound { kAbove, kAtLeast, kAtMost, kBelow };

struct RiskRule {
  std::string_view reason;
  std::string_view condition;  // as text; {} stands for the threshold
  // What is compared; nothing where the rule does not apply.
  std::optional<double> (*measure)(const RiskInputs& inputs, const RiskThresholds& thresholds);
  Bound bound;
  double RiskThresholds::* threshold;                        // null: 0
  Verdict verdict;                                           // without its figures
  leyline::TelemetryEvent (*event)(const Verdict& verdict);  // null: the rule has no event of its own
};
std::span<const RiskRule> risk_rules();
std::optional<Verdict> judge(const RiskRule& rule, const RiskInputs& inputs, const RiskThresholds& thresholds);

struct Finding {
  const RiskRule* rule;
  Verdict verdict;
};

inline constexpr std::string_view kPolicyReason = "policy";  // of what no rule changed
inline constexpr std::string_view kConservativeReason = "conservative_mode";

struct RiskAssessment {
  Change change = Change::kNone;            // the strongest
  std::string_view reason = kPolicyReason;  // the first rule with that change
  std::optional<std::string> conservative;  // the first rule that asks for conservative mode
  std::vector<Finding> findings;            // in order
};
// Each rule sees the decision without what earlier rules held back.
RiskAssessment assess(RiskInputs inputs, const RiskThresholds& thresholds);

}  // namespace esper::tamiyo
