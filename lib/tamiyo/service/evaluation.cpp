#include "tamiyo/service/evaluation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/names.h"
#include "leyline/telemetry/telemetry.h"
#include "tamiyo/service/decision_check.h"

namespace esper::tamiyo {

using leyline::AdaptationCommand;
using leyline::event;
using leyline::Level;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::TelemetryEvent;
using namespace leyline::literals;

namespace {

using AnswerKind = Answer::Kind;

TelemetryEvent breaker_event(BreakerState from, const CircuitBreaker& to) {
  const auto level = to.state == BreakerState::kOpen ? Level::kWarning : Level::kInfo;
  return event("breaker_event"_event, level,
               {{"from", std::string(base::name_of(from))},
                {"to", std::string(base::name_of(to.state))},
                {"failures", std::to_string(to.failures)}});
}

// A decision that cannot be trusted is a failure of the policy.
void check_answer(const Observation& observation, Evaluation& result) {
  auto& answer = result.answer;
  if (answer.kind == AnswerKind::kDecided) {
    result.assessment = answer.decision.assessment;
    if (const auto checked = check_decision(answer.decision, observation); !checked) {
      using Kind = DecisionProblem::Kind;
      result.fallbacks.seed = checked.error().kind == Kind::kUnknownSeed;
      result.fallbacks.blueprint = checked.error().kind == Kind::kUnknownBlueprint;
      answer.kind = AnswerKind::kFailed;
      answer.problem = "the decision is not carried out: " + checked.error().text;
      result.assessment.reset();
    }
  }
  if (answer.kind == AnswerKind::kDecided) return;
  answer.decision = {};
  result.fallbacks.runtime = answer.kind == AnswerKind::kFailed;
  result.fallbacks.synthetic_pause = true;
}

void count_answer(AnswerKind kind, ServiceState& state, const ServiceSettings& settings, base::Duration now,
                  std::vector<TelemetryEvent>& events) {
  if (kind == AnswerKind::kBreakerOpen) return;
  const auto before = state.breaker.state;
  if (kind == AnswerKind::kDecided) {
    record_success(state.breaker, settings.breaker);
  } else {
    record_failure(state.breaker, settings.breaker, now);
  }
  if (state.breaker.state != before) events.push_back(breaker_event(before, state.breaker));
}

// A loss that is not finite rose by more than any threshold.
std::optional<double> delta_of(double loss, const std::optional<double>& before) {
  if (!std::isfinite(loss)) return std::numeric_limits<double>::infinity();
  return before ? std::optional(loss - *before) : std::nullopt;
}

std::optional<double> figure_of(const Observation& observation, const std::string& name) {
  const auto found = observation.training_metrics.find(name);
  return found == observation.training_metrics.end() ? std::nullopt : std::optional(found->second);
}

bool is_germination(const AdaptationCommand& command) {
  return command.seed_operation->operation == SeedOperation::kGerminate;
}

// An answer that was busy has been waited for since an earlier question, longer than the deadline.
std::optional<double> late_ms_of(const Answer& answer, double deadline_ms) {
  if (answer.kind != AnswerKind::kLate && answer.kind != AnswerKind::kBusy) return std::nullopt;
  return std::max(answer.latency_ms, deadline_ms);
}

RiskInputs risk_inputs_of(const EvaluationInputs& inputs, const Evaluation& result, const ServiceState& state,
                          const RiskThresholds& thresholds) {
  RiskInputs risk;
  risk.germinates = std::ranges::any_of(result.answer.decision.commands, is_germination);
  risk.is_conservative = state.mode.is_active;
  risk.late_ms = late_ms_of(result.answer, thresholds.deadline_ms);
  if (result.assessment) {
    risk.policy_risk = result.assessment->risk;
    risk.coverage = result.assessment->coverage;
  }
  risk.loss_delta = result.loss_delta;
  risk.hook_ms = inputs.run.hook_ms;
  risk.step_ms = inputs.run.step_ms;
  risk.apply_ms = inputs.run.apply_ms;
  risk.isolation_violations = inputs.run.isolation_violations;
  risk.gpu_utilization_percent = inputs.run.gpu_utilization_percent;
  risk.gpu_free_gb = inputs.run.gpu_free_gb;
  risk.cpu_utilization_percent = inputs.run.cpu_utilization_percent;
  risk.gradient_conflict = inputs.run.gradient_conflict;
  risk.loss_volatility = figure_of(inputs.observation, "loss_volatility");
  risk.loss_above_mean = figure_of(inputs.observation, "loss_delta");
  risk.gradient_variance = figure_of(inputs.observation, "grad_var");
  risk.learning_rate = figure_of(inputs.observation, "optimizer_lr");
  return risk;
}

// With a germination that is held back goes the command that would have started its seed.
std::vector<AdaptationCommand> take_growth(leyline::Decision& decision) {
  std::vector<std::string> slots;
  for (const auto& command : decision.commands) {
    if (is_germination(command)) slots.push_back(command.seed_operation->slot);
  }
  const auto stays = [&](const AdaptationCommand& command) {
    const bool starts = command.target_seed_id.empty();
    return !is_germination(command) && !(starts && std::ranges::count(slots, command.seed_operation->slot) > 0);
  };
  const auto held = std::ranges::stable_partition(decision.commands, stays);
  std::vector<AdaptationCommand> growth(std::make_move_iterator(held.begin()), std::make_move_iterator(held.end()));
  decision.commands.erase(held.begin(), held.end());
  return growth;
}

std::vector<AdaptationCommand> take_held(Change change, leyline::Decision& decision) {
  if (change == Change::kPause) return std::exchange(decision.commands, {});
  return change == Change::kHoldGrowth ? take_growth(decision) : std::vector<AdaptationCommand>();
}

// Returns what is held back for it.
std::vector<std::string> apply_change(const RiskAssessment& risk, Evaluation& result) {
  auto& decision = result.answer.decision;
  const auto held = take_held(risk.change, decision);
  for (auto& command : decision.commands) command.annotations["risk_reason"] = risk.reason;
  if (held.empty()) return {};
  decision.reason += fmt::format(". {} of its commands are held back: {}", held.size(), risk.reason);
  if (risk.change == Change::kPause) {
    result.events.push_back(event("pause_triggered"_event, Level::kWarning,
                                  {{"reason", std::string(risk.reason)}, {"commands", std::to_string(held.size())}}));
  }
  return targets_of(held);
}

void update_conservative_mode(const RiskAssessment& risk, AnswerKind kind, ServiceState& state,
                              const ServiceSettings& settings, std::vector<TelemetryEvent>& events) {
  ModeEvidence evidence;
  evidence.breaker_closed = state.breaker.state == BreakerState::kClosed;
  evidence.enter_reason = risk.conservative;
  if (state.breaker.state == BreakerState::kOpen && !evidence.enter_reason) evidence.enter_reason = "breaker_open";
  evidence.is_calm = kind == AnswerKind::kDecided && std::ranges::all_of(risk.findings, [](const Finding& finding) {
                       return finding.verdict.change != Change::kPause || finding.rule->reason == kConservativeReason;
                     });
  const auto changed = update_mode(state.mode, evidence, settings.recovery_evaluations);
  if (changed == ModeChange::kEntered) {
    events.push_back(event("conservative_entered"_event, Level::kWarning, {{"reason", *evidence.enter_reason}}));
  } else if (changed == ModeChange::kExited) {
    events.push_back(event("conservative_exited"_event, Level::kInfo));
  }
}

void report_fallbacks(const Evaluation& result, std::vector<TelemetryEvent>& events) {
  const auto& [seed, blueprint, runtime, synthetic_pause] = result.fallbacks;
  const auto& problem = result.answer.problem;
  if (seed) events.push_back(event("tamiyo_fallback_seed"_event, Level::kWarning, {{"reason", problem}}));
  if (blueprint) events.push_back(event("tamiyo_fallback_blueprint"_event, Level::kWarning, {{"reason", problem}}));
  if (runtime) events.push_back(event("tamiyo_runtime_fallback"_event, Level::kWarning, {{"reason", problem}}));
  if (!synthetic_pause) return;
  events.push_back(event("tamiyo_fallback_synthetic_pause"_event, Level::kInfo, {{"reason", problem}}));
}

std::string reason_of(AnswerKind kind, const RiskAssessment& risk) {
  if (risk.change != Change::kNone) return std::string(risk.reason);
  if (kind == AnswerKind::kFailed) return "runtime_failure";
  if (kind == AnswerKind::kBreakerOpen) return "breaker_open";
  return std::string(kPolicyReason);
}

}  // namespace

std::vector<std::string> targets_of(const std::vector<AdaptationCommand>& commands) {
  std::vector<std::string> targets;
  for (const auto& command : commands) {
    const bool names_slot = is_germination(command) || command.target_seed_id.empty();
    const std::string& target = names_slot ? command.seed_operation->slot : command.target_seed_id;
    if (std::ranges::count(targets, target) == 0) targets.push_back(target);
  }
  return targets;
}

bool may_ask(ServiceState& state, const ServiceSettings& settings, base::Duration now,
             std::vector<TelemetryEvent>& events) {
  const auto before = state.breaker.state;
  prepare_call(state.breaker, settings.breaker, now);
  if (state.breaker.state != before) events.push_back(breaker_event(before, state.breaker));
  return may_call(state.breaker);
}

Evaluation evaluate(EvaluationInputs inputs, ServiceState& state, const ServiceSettings& settings) {
  Evaluation result;
  result.answer = std::move(inputs.answer);
  result.loss_delta = delta_of(inputs.observation.validation_loss, state.last_validation_loss);
  const bool has_answered = result.answer.kind == AnswerKind::kDecided;
  check_answer(inputs.observation, result);
  count_answer(result.answer.kind, state, settings, inputs.now, result.events);
  const auto risk = assess(risk_inputs_of(inputs, result, state, settings.risk), settings.risk);
  for (const auto& [rule, verdict] : risk.findings) {
    if (rule->event != nullptr) result.events.push_back(rule->event(verdict));
  }
  result.change = risk.change;
  result.findings = risk.findings;
  result.risk_reason = reason_of(result.answer.kind, risk);
  auto held_back = apply_change(risk, result);
  // A policy that did not answer has not seen yet what was held back of its last decision.
  if (has_answered) state.held_back = std::move(held_back);
  report_fallbacks(result, result.events);
  update_conservative_mode(risk, result.answer.kind, state, settings, result.events);
  const double loss = inputs.observation.validation_loss;
  if (std::isfinite(loss)) state.last_validation_loss = loss;
  return result;
}

}  // namespace esper::tamiyo
