#include "tolaria/growth/policy_questions.h"

#include <string>
#include <utility>

#include "base/names.h"
#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"
#include "tamiyo/service/log_record.h"

namespace esper::tolaria {

using base::milliseconds;
using leyline::event;
using leyline::Level;
using tamiyo::Answer;
using namespace leyline::literals;

void PolicyQuestions::begin_epoch_end() {
  figures_ = {};
  is_consulted_ = false;
  waiting_ms_ = 0;
}

void PolicyQuestions::ask(leyline::Observation observation, const EpochResults& results) {
  is_consulted_ = true;
  const auto begin = facts_.clock.now();
  policy_.begin({std::move(observation), policy_figures(facts_.config, results, last_)});
  waiting_ms_ += milliseconds(facts_.clock.now() - begin);
}

std::optional<leyline::Decision> PolicyQuestions::finish(RunProgress& progress, IfDecided then) {
  is_consulted_ = true;
  const auto begin = facts_.clock.now();
  const auto [question, report] = policy_.finish(progress.epoch);
  waiting_ms_ += milliseconds(facts_.clock.now() - begin);
  const Answer& answer = report.evaluation.answer;
  if (asks_policy(facts_.config)) {
    const std::string kind(base::name_of(facts_.config.policy.deciding()));
    log_.record(tamiyo::decision_record(kind, question.observation, question.figures, report));
  }
  for (const auto& event : report.evaluation.events) log_.report(event);
  figures_.metrics = report.metrics;
  if (tamiyo::was_asked(answer.kind)) figures_.decide_ms = answer.latency_ms;
  figures_.without_decision = answer.kind != Answer::Kind::kDecided;
  if (answer.kind == Answer::Kind::kDecided) {
    if (then == IfDecided::kDrop) return drop(answer.decision), std::nullopt;
    log_.report(answer.decision);
    return answer.decision;
  }
  ++progress.conservative_epochs;
  if (auto event = no_decision_event(answer, facts_.config.safety.policy_deadline)) log_.report(*std::move(event));
  return std::nullopt;
}

// What would begin now would never train; what the last epoch showed is decided next.
void PolicyQuestions::drop(const leyline::Decision& decision) {
  log_.report_missed(decision);
  if (decision.commands.empty()) return;
  policy_.report_dropped(decision);
  log_.report(event(
      "pause_triggered"_event, Level::kInfo,
      {{"reason", "the run ends: its last epoch decides"}, {"commands", std::to_string(decision.commands.size())}}));
}

void PolicyQuestions::end_epoch_end(double hook_ms) {
  if (is_consulted_) last_ = {hook_ms, waiting_ms_};
}

}  // namespace esper::tolaria
