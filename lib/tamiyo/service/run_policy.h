#pragma once
// The policy of a run: asked directly, or by the service, which keeps the run safe from it. Beside it others may be
// asked, whose answers are logged and change nothing (policy.kind ensemble). Used by the training thread.

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tamiyo/service/consultation.h"
#include "tamiyo/service/policy_service.h"

namespace esper::tamiyo {

// In a saved state: the shadows' own, as texts by kind.
inline constexpr char kShadowStates[] = "shadows";

class RunPolicy {
 public:
  explicit RunPolicy(std::unique_ptr<Consultation> consultation) : policy_(std::move(consultation)) {}
  explicit RunPolicy(std::unique_ptr<PolicyService> service) : policy_(std::move(service)) {}

  // A shadow policy: asked at the same time on a thread of its own, and waited for until its deadline at most. `kind`
  // names it in the log and in saved states.
  void add_shadow(std::string kind, std::unique_ptr<Consultation> shadow) {
    shadows_.push_back({std::move(kind), std::move(shadow)});
  }

  // Once after each epoch, in order. Without the service the report has an answer and nothing else.
  ServiceReport ask(const leyline::Observation& observation, const RunFigures& run = {});
  // The network rejected this command.
  void report_rejection(const std::string& command_id);

  const ConsultationFigures& figures() const;
  // The state after the last completed answer, with the shadows' under "shadows".
  std::string state() const;
  // Call before the first question. A shadow without a state of its own, or with one that it cannot read, begins anew.
  void restore(const std::string& state);

 private:
  struct Shadow {
    std::string kind;
    std::unique_ptr<Consultation> consultation;
  };
  ServiceReport ask_policy(const leyline::Observation& observation, const RunFigures& run);
  void restore_policy(const std::string& state);

  std::variant<std::unique_ptr<Consultation>, std::unique_ptr<PolicyService>> policy_;
  std::vector<Shadow> shadows_;
};

}  // namespace esper::tamiyo
