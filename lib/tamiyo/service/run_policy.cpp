#include "tamiyo/service/run_policy.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "tamiyo/service/evaluation.h"

namespace esper::tamiyo {

using leyline::Observation;
using nlohmann::json;

namespace {

// That of a saved state, where it has one.
std::optional<PolicyQuestion> open_question(const json& saved) {
  const json& asked = base::member(saved, kOpenQuestion);
  if (asked.is_null()) return std::nullopt;
  auto question = read_question(asked);
  if (question) return *std::move(question);
  throw base::Error(base::ExitCode::kCheckpoint, "the open question in the policy's saved state: " + question.error());
}

}  // namespace

void RunPolicy::put(Open& open) {
  open.is_asked = true;
  const auto& observation = open.question.observation;
  open.shadows = shadows_.begin(observation);
  if (auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_)) return (*service)->begin(observation);
  auto& consultation = *std::get<std::unique_ptr<Consultation>>(policy_);
  open.asked_with = consultation.state();
  consultation.begin(observation);
}

ServiceReport RunPolicy::answer_to(Open& open, std::uint32_t carried_out) {
  ServiceReport report;
  if (auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_)) {
    report = (*service)->finish(open.question.observation, open.question.figures, carried_out);
  } else {
    report.evaluation.answer = std::get<std::unique_ptr<Consultation>>(policy_)->finish();
    report.asked = {std::move(open.asked_with), {}, report.evaluation.answer};
  }
  shadows_.finish(open.shadows);
  report.asked.shadows = std::move(open.shadows);
  return report;
}

void RunPolicy::begin(PolicyQuestion question) {
  ESPER_CHECK(!open_, "a policy is asked one question at a time");
  const auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_);
  auto& held_back = question.observation.held_back;
  if (service != nullptr) held_back = (*service)->held_back();
  std::ranges::move(std::exchange(dropped_, {}), std::back_inserter(held_back));
  open_ = Open{.question = std::move(question)};
  put(*open_);
}

void RunPolicy::ask_again() {
  if (open_ && !open_->is_asked) put(*open_);
}

Consulting RunPolicy::finish(std::uint32_t carried_out) {
  ESPER_CHECK(open_, "finish() follows begin()");
  ask_again();
  auto report = answer_to(*open_, carried_out);
  Consulting consulting{std::move(open_->question), std::move(report)};
  open_.reset();
  return consulting;
}

void RunPolicy::report_rejection(const std::string& command_id) {
  if (auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_)) (*service)->report_rejection(command_id);
}

void RunPolicy::report_dropped(const leyline::Decision& decision) {
  for (const auto& command : decision.commands) report_rejection(command.command_id);
  dropped_ = targets_of(decision.commands);
}

const ConsultationFigures& RunPolicy::figures() const {
  return std::visit([](const auto& policy) -> const ConsultationFigures& { return policy->figures(); }, policy_);
}

std::string RunPolicy::state() const {
  std::string own = std::visit([](const auto& policy) { return policy->state(); }, policy_);
  if (shadows_.empty() && !open_) return own;
  json saved = json::parse(own);
  ESPER_CHECK(saved.is_object(), "a controller's state is one JSON object");
  if (!shadows_.empty()) saved[kShadowStates] = shadows_.states();
  if (open_) saved[kOpenQuestion] = question_json(open_->question);
  return saved.dump();
}

void RunPolicy::restore(const std::string& state) {
  json saved = json::parse(state, nullptr, false);
  auto question = open_question(saved);
  const json shadows = saved.contains(kShadowStates) ? saved[kShadowStates] : json::object();
  const bool is_own_alone = !saved.is_object() || saved.erase(kOpenQuestion) + saved.erase(kShadowStates) == 0;
  const std::string own = is_own_alone ? state : saved.dump();
  std::visit([&](const auto& policy) { policy->restore(own); }, policy_);
  // Nothing is refused from here on.
  shadows_.restore(shadows);
  open_.reset();
  if (question) open_ = Open{.question = *std::move(question)};
}

}  // namespace esper::tamiyo
