#include "tamiyo/service/run_policy.h"

#include <future>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "tamiyo/service/log_record.h"

namespace esper::tamiyo {

using leyline::Observation;
using nlohmann::json;

namespace {

// What a shadow answers when it has; its own deadline bounds the wait.
std::future<Answer> begin_asking(Consultation& shadow, const Observation& observation) {
  try {
    return std::async(std::launch::async, [&] { return shadow.ask(observation); });
  } catch (const std::system_error& error) {  // no thread
    std::promise<Answer> failed;
    failed.set_value({Answer::Kind::kFailed, {}, error.what(), 0});
    return failed.get_future();
  }
}

Answer shadow_answer(std::future<Answer>& asked) {
  try {
    return asked.get();
  } catch (const std::exception& error) {
    return {Answer::Kind::kFailed, {}, error.what(), 0};
  }
}

}  // namespace

ServiceReport RunPolicy::ask_policy(const Observation& observation, const RunFigures& run) {
  if (auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_))
    return (*service)->evaluate(observation, run);
  auto& consultation = *std::get<std::unique_ptr<Consultation>>(policy_);
  ServiceReport report;
  report.asked.state = consultation.state();
  report.evaluation.answer = consultation.ask(observation);
  report.asked.answer = report.evaluation.answer;
  return report;
}

ServiceReport RunPolicy::ask(const Observation& observation, const RunFigures& run) {
  std::vector<leyline::ShadowRecord> records;
  std::vector<std::future<Answer>> asked;
  for (const auto& [kind, shadow] : shadows_) {
    records.push_back({kind, shadow->state(), {}});
    asked.push_back(begin_asking(*shadow, observation));
  }
  auto report = ask_policy(observation, run);
  for (std::size_t i = 0; i < asked.size(); ++i) records[i].answer = answer_record(shadow_answer(asked[i]));
  report.asked.shadows = std::move(records);
  return report;
}

void RunPolicy::report_rejection(const std::string& command_id) {
  if (auto* service = std::get_if<std::unique_ptr<PolicyService>>(&policy_)) (*service)->report_rejection(command_id);
}

const ConsultationFigures& RunPolicy::figures() const {
  return std::visit([](const auto& policy) -> const ConsultationFigures& { return policy->figures(); }, policy_);
}

std::string RunPolicy::state() const {
  std::string own = std::visit([](const auto& policy) { return policy->state(); }, policy_);
  if (shadows_.empty()) return own;
  json saved = json::parse(own);
  ESPER_CHECK(saved.is_object(), "a controller's state is one JSON object");
  for (const auto& [kind, shadow] : shadows_) saved[kShadowStates][kind] = shadow->state();
  return saved.dump();
}

void RunPolicy::restore_policy(const std::string& state) {
  std::visit([&](const auto& policy) { policy->restore(state); }, policy_);
}

void RunPolicy::restore(const std::string& state) {
  json saved = json::parse(state, nullptr, false);
  if (!saved.is_object() || !saved.contains(kShadowStates)) return restore_policy(state);
  const json states = std::move(saved[kShadowStates]);
  saved.erase(kShadowStates);
  restore_policy(saved.dump());
  for (const auto& [kind, shadow] : shadows_) {
    const std::string own = base::text_at(states, kind);
    if (own.empty()) continue;
    try {
      shadow->restore(own);
    } catch (const base::Error&) {  // of other weights, say: it changes nothing in the run
    }
  }
}

}  // namespace esper::tamiyo
