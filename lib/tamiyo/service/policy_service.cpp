#include "tamiyo/service/policy_service.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "tamiyo/service/service_metrics.h"

namespace esper::tamiyo {

namespace {

constexpr char kServiceState[] = "service";
constexpr char kReportsState[] = "field_reports";

}  // namespace

void forget_service_figures(nlohmann::json& saved) {
  if (!saved.contains(kServiceState)) return;
  auto& own = saved[kServiceState];
  forget_loss(own);
  if (own.contains(kReportsState)) forget_pending(own[kReportsState]);
}

PolicyService::PolicyService(std::unique_ptr<Consultation> consultation, ServiceSettings settings, base::Clock clock)
    : consultation_(std::move(consultation)),
      settings_(settings),
      clock_(std::move(clock)),
      reports_(settings.reports) {}

ServiceReport PolicyService::evaluate(const leyline::Observation& observation, const RunFigures& run) {
  begin(observation);
  return finish(observation, run, observation.current_epoch);
}

void PolicyService::begin(const leyline::Observation& observation) {
  auto& asked = asked_.emplace();
  asked.before = {consultation_->state(), service_json(state_).dump(), {}};
  asked.is_let_through = may_ask(state_, settings_, clock_.now(), asked.events);
  if (asked.is_let_through) consultation_->begin(observation);
}

ServiceReport PolicyService::finish(const leyline::Observation& observation, const RunFigures& run,
                                    std::uint32_t carried_out) {
  ESPER_CHECK(asked_, "finish() follows begin()");
  Asked asked = *std::exchange(asked_, std::nullopt);
  Answer answer{Answer::Kind::kBreakerOpen, {}, "the circuit breaker is open: the policy failed too often", 0};
  if (asked.is_let_through) answer = consultation_->finish();
  ServiceReport report;
  report.asked = std::move(asked.before);
  report.asked.answer = answer;
  report.evaluation = tamiyo::evaluate({observation, std::move(answer), run, clock_.now()}, state_, settings_);
  report.evaluation.events.insert(report.evaluation.events.begin(), asked.events.begin(), asked.events.end());
  report.closed = reports_.observe(observation, report.evaluation.risk_reason);
  reports_.open(report.evaluation.answer.decision, observation, carried_out);
  if (observation.is_last) std::ranges::move(reports_.abort_all(), std::back_inserter(report.closed));
  for (const auto& closed : report.closed) report.evaluation.events.push_back(report_event(closed));
  report.metrics = service_metrics({observation, report.evaluation, state_, consultation_->figures(), reports_});
  if (after_each_) after_each_(report);
  return report;
}

std::string PolicyService::state() const {
  auto saved = nlohmann::json::parse(consultation_->state());
  ESPER_CHECK(saved.is_object(), "a controller's state is one JSON object");
  saved[kServiceState] = asked_ ? nlohmann::json::parse(asked_->before.service) : service_json(state_);
  saved[kServiceState][kReportsState] = reports_.save();
  return saved.dump();
}

void PolicyService::restore(const std::string& text) {
  try {
    auto saved = nlohmann::json::parse(text);
    ServiceState state;
    FieldReports reports(settings_.reports);
    if (saved.is_object() && saved.contains(kServiceState)) {
      const auto& own = saved.at(kServiceState);
      state = read_service(own, clock_.now());
      reports.load(own.at(kReportsState));
      saved.erase(kServiceState);
    }
    consultation_->restore(saved.dump());
    state_ = state;
    reports_ = std::move(reports);
  } catch (const nlohmann::json::exception& error) {
    throw base::Error(base::ExitCode::kCheckpoint, "the policy's saved state: " + base::plain_reason(error));
  }
}

}  // namespace esper::tamiyo
