#include "tamiyo/service/field_reports.h"

#include <algorithm>
#include <iterator>
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
  if (report.risk_reason.empty() || gravity_of(risk_reason) > gravity_of(report.risk_reason)) {
    report.risk_reason = risk_reason;
  }
  report.outcome = outcome_of(report.risk_reason);
  report.metrics = {{"validation_loss", observation.validation_loss},
                    {"validation_loss_delta", observation.validation_loss - pending.loss},
                    {"validation_accuracy", observation.validation_accuracy},
                    {"validation_accuracy_delta", observation.validation_accuracy - pending.accuracy}};
}

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
  it.epoch = base::whole_at<std::uint32_t>(saved, "epoch");
  pending.since = base::optional_at<std::uint32_t>(saved, "since").value_or(it.epoch);
  it.observation_window_epochs = base::whole_at<std::uint32_t>(saved, "window");
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
  published_ += std::ssize(closed);
  return closed;
}

void FieldReports::abort(const std::string& command_id) {
  const auto found = std::ranges::find(pending_, command_id, [](auto& pending) { return pending.report.command_id; });
  if (found == pending_.end()) return;
  pending_.erase(found);
  ++published_;
}

std::vector<FieldReport> FieldReports::abort_all() {
  std::vector<FieldReport> aborted;
  for (auto& pending : pending_) {
    pending.report.outcome = Outcome::kAborted;
    aborted.push_back(std::move(pending.report));
  }
  pending_.clear();
  published_ += std::ssize(aborted);
  return aborted;
}

nlohmann::json FieldReports::save() const {
  auto pending = nlohmann::json::array();
  for (const auto& one : pending_) pending.push_back(report_json(one));
  return {{"pending", pending}, {"published", published_}};
}

void FieldReports::load(const nlohmann::json& saved) {
  std::vector<PendingReport> pending;
  for (const auto& one : saved.at("pending")) pending.push_back(read_report(one));
  published_ = base::whole_at<std::int64_t>(saved, "published");
  pending_ = std::move(pending);
}

void forget_pending(nlohmann::json& saved) { saved["pending"] = nlohmann::json::array(); }

}  // namespace esper::tamiyo
