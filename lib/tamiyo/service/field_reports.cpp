#include "tamiyo/service/field_reports.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json_fields.h"

namespace esper::tamiyo {

using leyline::Observation;

namespace {

// REGRESSION before NEUTRAL before SUCCESS.
int gravity_of(std::string_view risk_reason) {
  switch (outcome_of(risk_reason)) {
    case Outcome::kRegression:
      return 2;
    case Outcome::kNeutral:
      return 1;
    default:
      return 0;
  }
}

void look_at(PendingReport& pending, const Observation& observation, std::string_view risk_reason) {
  auto& report = pending.report;
  if (observation.current_epoch <= pending.since) {
    pending.loss = observation.validation_loss;
    pending.accuracy = observation.validation_accuracy;
    return;
  }
  ++report.observation_window_epochs;
  report.issued_at_ns = observation.timestamp_ns;
  if (report.risk_reason.empty() || gravity_of(risk_reason) > gravity_of(report.risk_reason)) {
    report.risk_reason = risk_reason;
  }
  report.outcome = outcome_of(report.risk_reason);
  report.metrics = {{"validation_loss", observation.validation_loss},
                    {"validation_loss_delta", observation.validation_loss - pending.loss},
                    {"validation_accuracy", observation.validation_accuracy},
                    {"validation_accuracy_delta", observation.validation_accuracy - pending.accuracy}};
}

// Without the wall clock, which the next observation sets: equal runs have equal states.
nlohmann::json report_json(const PendingReport& pending) {
  const auto& it = pending.report;
  return {{"command", it.command_id},     {"run", it.training_run_id},
          {"seed", it.seed_id},           {"slot", it.slot},
          {"blueprint", it.blueprint_id}, {"policy", it.policy},
          {"reason", it.risk_reason},     {"epoch", it.epoch},
          {"since", pending.since},       {"window", it.observation_window_epochs},
          {"loss", pending.loss},         {"accuracy", pending.accuracy}};
}

PendingReport read_report(const nlohmann::json& saved) {
  PendingReport pending;
  auto& it = pending.report;
  it.command_id = saved.at("command");
  it.training_run_id = saved.at("run");
  it.seed_id = saved.at("seed");
  it.slot = saved.at("slot");
  it.blueprint_id = saved.at("blueprint");
  it.policy = saved.at("policy");
  it.risk_reason = saved.at("reason");
  it.epoch = saved.at("epoch");
  pending.since = base::optional_at<std::uint32_t>(saved, "since").value_or(it.epoch);
  it.observation_window_epochs = saved.at("window");
  pending.loss = saved.at("loss");
  pending.accuracy = saved.at("accuracy");
  return pending;
}

}  // namespace

void FieldReports::open(const leyline::Decision& decision, const Observation& observation, std::uint32_t carried_out) {
  for (const auto& command : decision.commands) {
    if (!command.seed_operation) continue;
    PendingReport pending{{}, observation.validation_loss, observation.validation_accuracy, carried_out};
    auto& report = pending.report;
    report.command_id = command.command_id;
    report.training_run_id = observation.training_run_id;
    report.seed_id = command.target_seed_id;
    report.slot = command.seed_operation->slot;
    report.blueprint_id = command.seed_operation->blueprint_id;
    report.policy = command.issued_by;
    report.epoch = observation.current_epoch;
    report.issued_at_ns = observation.timestamp_ns;
    pending_.push_back(std::move(pending));
  }
}

std::vector<FieldReport> FieldReports::observe(const Observation& observation, std::string_view risk_reason) {
  for (auto& pending : pending_) look_at(pending, observation, risk_reason);
  std::vector<FieldReport> closed;
  for (const auto& pending : pending_) {
    if (pending.report.observation_window_epochs >= settings_.window_epochs) closed.push_back(pending.report);
  }
  std::erase_if(pending_, [&](const PendingReport& pending) {
    return pending.report.observation_window_epochs >= settings_.window_epochs;
  });
  for (const auto& report : closed) close(report);
  forget_old(observation.timestamp_ns);
  return closed;
}

void FieldReports::abort(const std::string& command_id) {
  const auto found = std::ranges::find(pending_, command_id, [](auto& pending) { return pending.report.command_id; });
  if (found == pending_.end()) return;
  auto report = std::move(found->report);
  pending_.erase(found);
  report.outcome = Outcome::kAborted;
  close(std::move(report));
}

void FieldReports::abort_all() {
  while (!pending_.empty()) abort(std::string(pending_.front().report.command_id));
}

void FieldReports::close(FieldReport report) {
  ++published_;
  kept_.push_back(std::move(report));
  if (kept_.size() > settings_.most_kept) kept_.pop_front();
}

void FieldReports::forget_old(std::uint64_t now_ns) {
  const auto retention_ns = static_cast<std::uint64_t>(settings_.retention.count());
  while (!kept_.empty() && kept_.front().issued_at_ns + retention_ns < now_ns) kept_.pop_front();
}

nlohmann::json FieldReports::save() const {
  auto pending = nlohmann::json::array();
  for (const auto& one : pending_) pending.push_back(report_json(one));
  return {{"pending", pending}, {"published", published_}};
}

void FieldReports::load(const nlohmann::json& saved) {
  std::vector<PendingReport> pending;
  for (const auto& one : saved.at("pending")) pending.push_back(read_report(one));
  published_ = saved.at("published");
  pending_ = std::move(pending);
}

void forget_pending(nlohmann::json& saved) { saved["pending"] = nlohmann::json::array(); }

}  // namespace esper::tamiyo
