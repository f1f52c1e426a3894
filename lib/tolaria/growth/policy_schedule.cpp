#include "tolaria/growth/policy_schedule.h"

#include <string>

#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::event;
using namespace leyline::literals;

bool asks_policy(const config::RunConfig& config) {
  return config.growth.enabled && config.policy.kind != config::PolicyKind::kNone;
}

bool is_question_due(const RunFacts& facts, const RunProgress& progress, const EpochResults& results) {
  const auto& every = facts.config.policy.every;
  if (results.is_last) return true;
  if (every.unit == base::Length::Unit::kEpochs) return progress.epoch % every.count == 0;
  return progress.step / every.count > (progress.step - facts.steps_per_epoch()) / every.count;
}

tamiyo::RunFigures policy_figures(const config::RunConfig& config, const EpochResults& results,
                                  const GrowthTimes& last) {
  tamiyo::RunFigures figures;
  double violations = 0, conflicts = 0, comparisons = 0;
  for (const auto& [id, seed] : results.steps.seeds) {
    violations += seed.isolation_violations;
    conflicts += seed.conflicts;
    comparisons += seed.comparisons;
  }
  figures.isolation_violations = violations;
  if (comparisons > 0) figures.gradient_conflict = conflicts / comparisons;
  if (!config.policy.risk.judge_times) return figures;
  figures.hook_ms = last.hook_ms;
  figures.apply_ms = last.hook_ms - last.waiting_ms;
  if (results.steps.steps > 0) figures.step_ms = results.trained.train_ms / static_cast<double>(results.steps.steps);
  return figures;
}

std::optional<leyline::TelemetryEvent> no_decision_event(const tamiyo::Answer& answer, base::Duration deadline) {
  using Outcome = tamiyo::Answer::Kind;
  if (answer.kind == Outcome::kDecided || answer.kind == Outcome::kBreakerOpen) return std::nullopt;
  if (answer.kind == Outcome::kFailed) {
    return event("tolaria.tamiyo_error"_event, leyline::Level::kWarning, {{"error", answer.problem}});
  }
  return event("tolaria.tamiyo_timeout"_event, leyline::Level::kWarning,
               {{"error", answer.problem},
                {"latency_ms", std::to_string(answer.latency_ms)},
                {"deadline_ms", std::to_string(base::milliseconds(deadline))}});
}

}  // namespace esper::tolaria
