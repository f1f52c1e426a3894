#pragma once
// The policy of a run: asked directly, or by the service, which keeps the run safe from it. Beside it others may be
// asked, whose answers are logged and change nothing (policy.kind ensemble). Used by the training thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "leyline/command.h"
#include "tamiyo/service/consultation.h"
#include "tamiyo/service/policy_question.h"
#include "tamiyo/service/policy_service.h"
#include "tamiyo/service/shadow_policies.h"

namespace esper::tamiyo {

// A question, and what came of it.
struct Consulting {
  PolicyQuestion question;
  ServiceReport report;
};

class RunPolicy {
 public:
  explicit RunPolicy(std::unique_ptr<Consultation> consultation) : policy_(std::move(consultation)) {}
  explicit RunPolicy(std::unique_ptr<PolicyService> service) : policy_(std::move(service)) {}

  // A shadow policy: asked at the same time on a thread of its own, and waited for until its deadline at most. `kind`
  // names it in the log and in saved states.
  void add_shadow(std::string kind, std::unique_ptr<Consultation> shadow) {
    shadows_.add(std::move(kind), std::move(shadow));
  }

  // After epochs, in order: the policy thinks in between, and what has arrived when finish() is called is in time.
  // carried_out: the epoch at whose end its commands are. Without the service the report has an answer and nothing
  // else.
  void begin(PolicyQuestion question);
  bool has_question() const { return open_.has_value(); }
  Consulting finish(std::uint32_t carried_out);
  // A question that came with a restored state is asked; finish() would else do it.
  void ask_again();
  // The network rejected this command.
  void report_rejection(const std::string& command_id);
  // Nothing of it is carried out, and nothing was tried: the next question has its commands as held back.
  void report_dropped(const leyline::Decision& decision);

  const ConsultationFigures& figures() const;
  // The state after the last completed answer, with the shadows' under "shadows". Between begin() and finish() that
  // before the question, with the question.
  std::string state() const;
  // Call before the first question. A shadow without a state of its own, or with one that it cannot read, starts from
  // its initial state. Throws Error where the policy cannot go on from it, or its open question cannot be read; all is
  // as before then.
  void restore(const std::string& state);
  // Those that started from their initial state, since the last restore() could not read theirs.
  const std::vector<UnreadShadow>& unread_shadows() const { return shadows_.unread(); }

 private:
  struct Open {
    PolicyQuestion question;
    bool is_asked = false;
    std::string asked_with = {};                      // the controller's state, where there is no service
    std::vector<leyline::ShadowRecord> shadows = {};  // without their answers
  };
  void put(Open& open);
  ServiceReport answer_to(Open& open, std::uint32_t carried_out);

  std::variant<std::unique_ptr<Consultation>, std::unique_ptr<PolicyService>> policy_;
  ShadowPolicies shadows_;
  std::optional<Open> open_;
  std::vector<std::string> dropped_;  // for the next question
};

}  // namespace esper::tamiyo
