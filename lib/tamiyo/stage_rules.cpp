#include "tamiyo/stage_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/quantity.h"

namespace esper::tamiyo {

using config::Evidence;
using leyline::SeedOperation;
using leyline::SeedState;
using leyline::Stage;

namespace {

// One condition of a step: met, or what is missing.
class Conditions {
 public:
  void at_least(const char* name, std::optional<double> value, double threshold) {
    add(value && *value >= threshold, text_of(name, value, " >= ", threshold));
  }
  // In loss, or in points above `least_points`.
  void worth_shown(const leyline::SeedWorth& worth, const config::GateConfig& gates, double least_points) {
    const auto [loss, upper, points] = bounds_of(worth);
    add((loss && *loss > gates.min_worth_loss) || (points && *points > least_points),
        text_of("lower end of worth in loss", loss, " > ", gates.min_worth_loss) + " or " +
            text_of("in points", points, " > ", least_points));
  }
  void worth_complete(const leyline::SeedWorth& worth) {
    add(worth.is_complete(), fmt::format("worth over the whole horizon (measured {} of {} epochs{})", worth.epochs,
                                         worth.horizon, worth.confounded ? ", confounded" : ""));
  }
  const std::string& missing() const { return missing_; }
  NextStep step(SeedOperation operation) const {
    if (missing_.empty()) return {operation, met_};
    return {std::nullopt, "waiting for " + missing_};
  }

 private:
  static std::string text_of(const char* name, std::optional<double> value, const char* relation, double threshold) {
    return fmt::format("{}{}{} ({})", name, relation, number(threshold),
                       value ? "measured " + number(*value) : "not measured");
  }
  void add(bool holds, const std::string& condition) {
    auto& text = holds ? met_ : missing_;
    text += (text.empty() ? "" : ", ") + condition;
  }

  std::string met_, missing_;
};

int min_epochs(Stage stage, const config::GateConfig& gates) {
  switch (stage) {
    case Stage::kTraining:
      return gates.min_training_epochs;
    case Stage::kShadowing:
      return gates.min_shadow_epochs;
    case Stage::kProbationary:
      return gates.min_probation_epochs;
    default:
      return 0;
  }
}

// What is no number was not measured.
std::optional<double> finite(std::optional<double> figure) {
  return figure && std::isfinite(*figure) ? figure : std::nullopt;
}

// What a seed with alpha above 0 costs, in accuracy points, if that is shown.
std::optional<double> shown_drop(const SeedState& seed, Changes changes) {
  const auto& figures = seed.figures;
  const bool is_heard = seed.stage >= Stage::kBlending || seed.figures.alpha > 0;
  if (!is_heard) return std::nullopt;
  if (const auto points = finite(figures.contribution_points); points && seed.stage == Stage::kProbationary) {
    const bool shown = *points + finite(figures.contribution_half_width_points).value_or(0) < 0;
    return shown ? std::optional(-*points) : std::nullopt;
  }
  if (const auto* change = change_over(changes, seed.stage_epochs)) {
    return shows_lasting_rise(*change) ? std::optional(-change->points) : std::nullopt;
  }
  const auto points = finite(figures.improvement_points);
  return points ? std::optional(-*points) : std::nullopt;
}

// Half the 95 % interval of what the seed is judged by.
double noise_of(const SeedState& seed, Changes changes) {
  if (seed.stage == Stage::kProbationary) {
    return finite(seed.figures.contribution_half_width_points).value_or(0);
  }
  const auto* change = change_over(changes, 1);
  return change != nullptr && change->points_error ? base::half_width_95(*change->points_error) : 0;
}

// What the gate at the end of that stage asks of a seed's worth.
void ask_worth(Conditions& conditions, Stage stage, const leyline::SeedWorth& worth, const config::GateConfig& gates) {
  switch (stage) {
    case Stage::kTraining:
      return conditions.at_least("upper end of worth in loss", bounds_of(worth).loss_upper, gates.min_worth_loss);
    case Stage::kShadowing:
      return conditions.worth_shown(worth, gates, -gates.max_shadow_drop_points);
    case Stage::kProbationary:
      conditions.worth_complete(worth);
      return conditions.worth_shown(worth, gates, gates.min_worth_points);
    default:
      return;
  }
}

// That a gate ahead can never pass; empty while all may. Call when no later epoch will be compared.
std::string hopeless_worth(const SeedState& seed, const config::GateConfig& gates) {
  const auto& worth = seed.figures.worth;
  if (worth.horizon == 0) return "it has no control, so that its worth cannot be shown";
  // The hardest first, since mostly it decides.
  for (const auto stage : {Stage::kProbationary, Stage::kShadowing, Stage::kTraining}) {
    if (stage < seed.stage) break;
    Conditions conditions;
    ask_worth(conditions, stage, worth, gates);
    if (conditions.missing().empty()) continue;
    return "its comparison with its control is over, and its worth is not shown; missing: " + conditions.missing();
  }
  return {};
}

// Empty: none was shown.
std::string harm_of(const SeedState& seed, const Rules& rules, Changes changes) {
  const double allowed = rules.heuristic.prune_drop_points;
  switch (rules.gates.evidence) {
    case Evidence::kControl:
      return hopeless_worth(seed, rules.gates);
    case Evidence::kAblation: {
      const auto drop = shown_drop(seed, changes);
      if (!drop || *drop < allowed) return {};
      return "it costs " + number(*drop) + " accuracy points (allowed " + number(allowed) + ")";
    }
    case Evidence::kNone:
      break;
  }
  return {};
}

}  // namespace

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::optional<double> judged_points(const SeedState& seed) {
  switch (seed.stage) {
    case Stage::kGerminated:
      return std::nullopt;
    case Stage::kShadowing:
      return finite(seed.figures.shadow_points);
    case Stage::kProbationary:
      return finite(seed.figures.contribution_points);
    default:
      return finite(seed.figures.improvement_points);
  }
}

NextStep next_step(const SeedState& seed, const Rules& rules) {
  const auto& gates = rules.gates;
  const bool control = gates.evidence == Evidence::kControl, ablation = gates.evidence == Evidence::kAblation;
  Conditions conditions;
  switch (seed.stage) {
    case Stage::kGerminated:
      return {SeedOperation::kStartTraining, "grafted, ready to train"};
    case Stage::kTraining:
      conditions.at_least("epochs in training", seed.stage_epochs, gates.min_training_epochs);
      if (ablation) {
        conditions.at_least("improvement points", finite(seed.figures.improvement_points),
                            gates.min_improvement_points);
      }
      conditions.at_least("gradient ratio", finite(seed.figures.gradient_ratio), gates.min_gradient_ratio);
      if (control) ask_worth(conditions, seed.stage, seed.figures.worth, gates);
      return conditions.step(SeedOperation::kStartGrafting);
    case Stage::kBlending:
      conditions.at_least("epochs in blending", seed.stage_epochs, gates.min_blending_epochs);
      conditions.at_least("alpha", finite(seed.figures.alpha), seed.figures.alpha_target);
      return conditions.step(SeedOperation::kStabilize);
    case Stage::kShadowing:
      conditions.at_least("epochs in shadowing", seed.stage_epochs, gates.min_shadow_epochs);
      if (ablation) {
        conditions.at_least("points at full alpha", finite(seed.figures.shadow_points), -gates.max_shadow_drop_points);
      }
      if (control) ask_worth(conditions, seed.stage, seed.figures.worth, gates);
      return conditions.step(SeedOperation::kEvaluate);
    case Stage::kProbationary:
      conditions.at_least("epochs in probation", seed.stage_epochs, gates.min_probation_epochs);
      if (ablation) {
        conditions.at_least("contribution points", finite(seed.figures.contribution_points),
                            std::max(gates.min_contribution_points, rules.heuristic.min_fossilize_points));
      }
      if (control) ask_worth(conditions, seed.stage, seed.figures.worth, gates);
      return conditions.step(SeedOperation::kFossilize);
    default:
      return {std::nullopt, "no action in this stage"};
  }
}

bool has_improved(const SeedState& seed, std::optional<double> best, std::uint32_t epochs, Changes changes) {
  const auto* change = change_over(changes, epochs);
  const bool is_heard = seed.stage == Stage::kTraining && seed.figures.alpha > 0;
  if (change != nullptr && is_heard) return shows_improvement(*change);
  const auto points = judged_points(seed);
  return points && (!best || *points > *best + noise_of(seed, changes));
}

std::string prune_reason(const SeedState& seed, std::uint32_t stale_epochs, const Rules& rules, Changes changes) {
  if (rules.gates.evidence == Evidence::kControl && seed.figures.worth.is_pending()) return {};
  if (const auto harm = harm_of(seed, rules, changes); !harm.empty()) return harm;
  const auto limit = static_cast<std::uint32_t>(rules.heuristic.prune_after_epochs);
  const auto wanted = static_cast<std::uint32_t>(min_epochs(seed.stage, rules.gates));
  if (seed.stage == Stage::kBlending || stale_epochs < limit || seed.stage_epochs < wanted) return {};
  return fmt::format("{} without improvement (allowed {})",
                     to_string(base::Length{stale_epochs, base::Length::Unit::kEpochs}), limit);
}

}  // namespace esper::tamiyo
