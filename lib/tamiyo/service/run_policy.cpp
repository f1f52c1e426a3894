#include "tamiyo/service/run_policy.h"

namespace esper::tamiyo {

ServiceReport RunPolicy::ask(const leyline::Observation& observation, const RunFigures& run) {
  if (auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_))
    return (*service)->evaluate(observation, run);
  ServiceReport report;
  report.evaluation.answer = std::get<std::unique_ptr<Consultation>>(policy_)->ask(observation);
  return report;
}

void RunPolicy::report_rejection(const std::string& command_id) {
  if (auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_)) (*service)->report_rejection(command_id);
}

const ConsultationFigures& RunPolicy::figures() const {
  return std::visit([](const auto& policy) -> const ConsultationFigures& { return policy->figures(); }, policy_);
}

std::string RunPolicy::state() const {
  return std::visit([](const auto& policy) { return policy->state(); }, policy_);
}

void RunPolicy::restore(const std::string& state) {
  std::visit([&](const auto& policy) { policy->restore(state); }, policy_);
}

}  // namespace esper::tamiyo
