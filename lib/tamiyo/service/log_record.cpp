#include "tamiyo/service/log_record.h"

#include <array>
#include <optional>
#include <utility>

#include "base/names.h"
#include "base/text/printable.h"

namespace esper::tamiyo {

using leyline::AnswerRecord;

namespace {

constexpr std::array kFigures{std::pair{"hook_ms", &RunFigures::hook_ms},
                              std::pair{"step_ms", &RunFigures::step_ms},
                              std::pair{"apply_ms", &RunFigures::apply_ms},
                              std::pair{"isolation_violations", &RunFigures::isolation_violations},
                              std::pair{"gpu_utilization_percent", &RunFigures::gpu_utilization_percent},
                              std::pair{"gpu_free_gb", &RunFigures::gpu_free_gb},
                              std::pair{"cpu_utilization_percent", &RunFigures::cpu_utilization_percent},
                              std::pair{"gradient_conflict", &RunFigures::gradient_conflict}};
static_assert(sizeof(RunFigures) == kFigures.size() * sizeof(std::optional<double>));

}  // namespace

AnswerRecord answer_record(const Answer& answer) {
  return {std::string(base::name_of(answer.kind)), answer.problem, answer.latency_ms, answer.decision};
}

base::Expected<Answer> answer_of(const AnswerRecord& record) {
  const auto kind = base::from_name<Answer::Kind>(record.outcome);
  if (!kind) return base::failure("no outcome of asking a policy: " + base::in_quotes(record.outcome));
  return Answer{*kind, record.decision, record.problem, record.latency_ms};
}

std::map<std::string, double> named_figures(const RunFigures& figures) {
  std::map<std::string, double> named;
  for (const auto& [name, member] : kFigures) {
    if (const auto& value = figures.*member) named[name] = *value;
  }
  return named;
}

RunFigures run_figures(const std::map<std::string, double>& named) {
  RunFigures figures;
  for (const auto& [name, member] : kFigures) {
    if (const auto found = named.find(name); found != named.end()) figures.*member = found->second;
  }
  return figures;
}

leyline::DecisionRecord decision_record(const std::string& policy, const leyline::Observation& observation,
                                        const RunFigures& figures, const ServiceReport& report) {
  leyline::DecisionRecord record;
  record.observation = observation;
  record.policy = policy;
  record.state = report.asked.state;
  record.service = report.asked.service;
  record.figures = named_figures(figures);
  record.answer = answer_record(report.asked.answer);
  record.carried_out = carried_out(report.evaluation);
  record.held_by = report.evaluation.risk_reason;
  record.shadows = report.asked.shadows;
  return record;
}

leyline::Decision carried_out(const Evaluation& evaluation) {
  auto decision = evaluation.answer.decision;
  decision.details.clear();
  return decision;
}

}  // namespace esper::tamiyo
