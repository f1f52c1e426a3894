#include "kasmina/slot/gates.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace esper::kasmina {

using config::Evidence;

namespace {

// Integers in full, since they are counts; other numbers to four digits.
std::string number(double value) {
  constexpr double kLongestCount = 1e15;
  const bool whole = std::abs(value) < kLongestCount && std::trunc(value) == value;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

// Collects the conditions of one gate.
class Judge {
 public:
  explicit Judge(Gate gate) { verdict_.gate = gate; }

  void at_least(const std::string& name, std::optional<double> value, double threshold) {
    judge(name, value, " >= ", threshold, value && *value >= threshold);
  }
  void at_most(const std::string& name, std::optional<double> value, double threshold) {
    judge(name, value, " <= ", threshold, value && *value <= threshold);
  }
  void above(const std::string& name, std::optional<double> value, double threshold) {
    judge(name, value, " > ", threshold, value && *value > threshold);
  }
  // One of two conditions.
  struct Above {
    std::string name;
    std::optional<double> value;
    double threshold;
    bool holds() const { return value && std::isfinite(*value) && *value > threshold; }
    std::string text(bool failed) const {
      return fmt::format("{} > {}{} ({})", name, number(threshold), failed ? " failed" : "",
                         value ? "measured " + number(*value) : "not measured");
    }
  };
  void either(const Above& a, const Above& b) {
    const bool holds = a.holds() || b.holds();
    for (const auto* one : {&a, &b}) {
      verdict_.required.emplace_back(one->name, one->threshold);
      add_value(one->name, one->value);
    }
    add_reason(a.text(!holds) + " or " + b.text(!holds));
    verdict_.passed = verdict_.passed && holds;
  }
  void add_value(const std::string& name, std::optional<double> value) {
    if (value && std::isfinite(*value)) verdict_.values.emplace_back(name, *value);
  }
  Verdict verdict() const { return verdict_; }

 private:
  void judge(const std::string& name, std::optional<double> value, const char* relation, double threshold, bool holds) {
    const bool finite = value && std::isfinite(*value);
    verdict_.required.emplace_back(name, threshold);
    add_reason(fmt::format("{}{}{}{} ({})", name, relation, number(threshold), finite && holds ? "" : " failed",
                           value ? "measured " + number(*value) : "not measured"));
    add_value(name, value);
    verdict_.passed = verdict_.passed && finite && holds;
  }
  void add_reason(const std::string& condition) {
    verdict_.reason += (verdict_.reason.empty() ? "" : "; ") + condition;
  }

  Verdict verdict_;
};

void add_worth(Judge& judge, const leyline::SeedWorth& worth) {
  judge.add_value("worth_loss", worth.loss);
  judge.add_value("worth_loss_stderr", worth.loss_stderr);
  judge.add_value("worth_loss_half_width", worth.loss_half_width);
  judge.add_value("worth_points", worth.points);
  judge.add_value("worth_points_stderr", worth.points_stderr);
  judge.add_value("worth_points_half_width", worth.points_half_width);
}

void judge_worth(Judge& judge, const leyline::SeedWorth& worth, double min_loss, double min_points) {
  const auto bounds = bounds_of(worth);
  judge.either({"worth_loss_lower", bounds.loss_lower, min_loss},
               {"worth_points_lower", bounds.points_lower, min_points});
}

}  // namespace

Verdict sanity_gate(const GraftEvidence& evidence) {
  Judge judge(Gate::kG0);
  judge.at_most("nonfinite_parameters", evidence.nonfinite_parameters, 0);
  judge.at_most("relative_output_change", evidence.relative_change, kMaxGraftChange);
  if (evidence.max_change_at_full_alpha) {
    judge.at_most("change_at_full_alpha", evidence.change_at_full_alpha, *evidence.max_change_at_full_alpha);
  } else {
    judge.add_value("change_at_full_alpha", evidence.change_at_full_alpha);
  }
  return judge.verdict();
}

Verdict gradient_gate(const GradientEvidence& evidence) {
  Judge judge(Gate::kG1);
  judge.at_least("parameters", evidence.num_parameters, 1);
  judge.above("gradient_norm", evidence.gradient_norm, 0);
  return judge.verdict();
}

Verdict learning_gate(const EpochEvidence& evidence, const config::GateConfig& config) {
  Judge judge(Gate::kG2);
  judge.at_least("epochs_in_training", evidence.stage_epochs, config.min_training_epochs);
  if (config.evidence == Evidence::kAblation) {
    judge.at_least("improvement_points", evidence.improvement_points, config.min_improvement_points);
  }
  judge.at_least("gradient_ratio", evidence.gradient_ratio, config.min_gradient_ratio);
  if (config.evidence == Evidence::kControl) {
    judge.at_least("worth_loss_upper", bounds_of(evidence.worth).loss_upper, config.min_worth_loss);
  }
  add_worth(judge, evidence.worth);
  return judge.verdict();
}

Verdict blending_gate(const EpochEvidence& evidence, const config::GateConfig& config) {
  Judge judge(Gate::kG3);
  judge.at_least("epochs_in_blending", evidence.stage_epochs, config.min_blending_epochs);
  judge.at_least("alpha", evidence.alpha, evidence.alpha_target);
  return judge.verdict();
}

Verdict shadow_gate(const EpochEvidence& evidence, const config::GateConfig& config) {
  Judge judge(Gate::kG4);
  judge.at_least("epochs_in_shadowing", evidence.stage_epochs, config.min_shadow_epochs);
  if (config.evidence == Evidence::kAblation) {
    judge.at_least("shadow_points", evidence.shadow_points, -config.max_shadow_drop_points);
  } else if (config.evidence == Evidence::kControl) {
    judge_worth(judge, evidence.worth, config.min_worth_loss, -config.max_shadow_drop_points);
  }
  add_worth(judge, evidence.worth);
  return judge.verdict();
}

Verdict contribution_gate(const EpochEvidence& evidence, const config::GateConfig& config) {
  Judge judge(Gate::kG5);
  judge.at_least("epochs_in_probation", evidence.stage_epochs, config.min_probation_epochs);
  if (config.evidence == Evidence::kAblation) {
    judge.at_least("contribution_points", evidence.contribution_points, config.min_contribution_points);
  } else {
    judge.add_value("contribution_points", evidence.contribution_points);
  }
  if (config.evidence == Evidence::kControl) {
    // Without a control there is no horizon that could be reached.
    judge.at_least("worth_epochs", evidence.worth.epochs, std::max<double>(1, evidence.worth.horizon));
    judge_worth(judge, evidence.worth, config.min_worth_loss, config.min_worth_points);
  }
  add_worth(judge, evidence.worth);
  judge.add_value("contribution_stderr_points", evidence.contribution_stderr_points);
  judge.add_value("contribution_half_width_points", evidence.contribution_half_width_points);
  judge.add_value("shapley_points", evidence.shapley_points);
  return judge.verdict();
}

std::optional<double> gradient_ratio(const GradientNorms& norms) {
  if (norms.seed_parameters <= 0 || norms.host_parameters <= 0 || !(norms.host > 0)) return std::nullopt;
  const double sizes = static_cast<double>(norms.host_parameters) / static_cast<double>(norms.seed_parameters);
  const double ratio = norms.seed / norms.host * std::sqrt(sizes);
  if (!std::isfinite(ratio)) return std::nullopt;
  return ratio;
}

double smoothed_ratio(std::optional<double> before, double ratio) {
  constexpr double kMemory = 0.9;
  return before ? kMemory * *before + (1 - kMemory) * ratio : ratio;
}

}  // namespace esper::kasmina
