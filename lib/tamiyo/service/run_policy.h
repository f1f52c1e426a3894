#pragma once
// The policy of a run: asked directly, or by the service, which keeps the run safe from it. Used by the training
// thread.

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "tamiyo/service/consultation.h"
#include "tamiyo/service/policy_service.h"

namespace esper::tamiyo {

class RunPolicy {
 public:
  explicit RunPolicy(std::unique_ptr<Consultation> consultation) : policy_(std::move(consultation)) {}
  explicit RunPolicy(std::unique_ptr<PolicyService> service) : policy_(std::move(service)) {}

  // Once after each epoch, in order. Without the service the report has an answer and nothing else.
  ServiceReport ask(const leyline::Observation& observation, const RunFigures& run = {});
  // The network rejected this command.
  void report_rejection(const std::string& command_id);

  const ConsultationFigures& figures() const;
  // The state after the last completed answer.
  std::string state() const;
  // Call before the first question.
  void restore(const std::string& state);

 private:
  std::variant<std::unique_ptr<Consultation>, std::unique_ptr<PolicyService>> policy_;
};

}  // namespace esper::tamiyo
