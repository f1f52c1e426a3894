#pragma once
// A policy that is asked safely: with a deadline, behind a circuit breaker, its decisions checked and judged before
// they are carried out. Used by the training thread in the place of a Consultation.

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "leyline/decision_record.h"
#include "leyline/observation.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tamiyo/service/consultation.h"
#include "tamiyo/service/evaluation.h"
#include "tamiyo/service/field_reports.h"
#include "tamiyo/service/service_state.h"

namespace esper::tamiyo {

// What a policy was asked with, and what it answered itself: for the log of decisions.
struct Consulted {
  std::string state;    // of the controller before
  std::string service;  // of the service before, as JSON; empty: there is none
  Answer answer;
  std::vector<leyline::ShadowRecord> shadows = {};
};

struct ServiceReport {
  Evaluation evaluation;
  std::vector<leyline::MetricValue> metrics;
  std::vector<FieldReport> closed;  // field reports whose window is over, or which the run's end aborts
  Consulted asked;
};

// Takes the figures of the network so far out of a state(): the last loss, and the reports that compare with it.
// Nothing where it has no part of the service. Throws nlohmann::json::exception for what is no such state.
void forget_service_figures(nlohmann::json& saved);

class PolicyService {
 public:
  PolicyService(std::unique_ptr<Consultation> consultation, ServiceSettings settings, base::Clock clock);

  // Once after each epoch, in order.
  ServiceReport evaluate(const leyline::Observation& observation, const RunFigures& run = {});
  // The same in two parts, with the same arguments: the policy thinks in between. carried_out: the epoch at whose end
  // its commands are.
  void begin(const leyline::Observation& observation);
  ServiceReport finish(const leyline::Observation& observation, const RunFigures& run, std::uint32_t carried_out);
  // Called with each report, after the answer, on the thread that asks.
  void after_each(std::function<void(ServiceReport& report)> call) { after_each_ = std::move(call); }
  // The network rejected this command: it was not carried out, and its field report ends.
  void report_rejection(const std::string& command_id) { reports_.abort(command_id); }

  const ConsultationFigures& figures() const { return consultation_->figures(); }
  const FieldReports& reports() const { return reports_; }
  // Of the last decision: for the next observation.
  const std::vector<std::string>& held_back() const { return state_.held_back; }

  // The controller's state after its last answer that was not dropped, with the service's own under "service"; between
  // begin() and finish() that before the question.
  std::string state() const;
  // Call before the first question. A state without the service's part is a controller's own, of a run without one.
  // Throws Error{kCheckpoint} for what is no such state.
  void restore(const std::string& text);

 private:
  std::unique_ptr<Consultation> consultation_;
  ServiceSettings settings_;
  base::Clock clock_;
  struct Asked {
    Consulted before;  // without the answer
    bool is_let_through = false;
    std::vector<leyline::TelemetryEvent> events;
  };
  std::optional<Asked> asked_;  // between begin() and finish()
  ServiceState state_;
  FieldReports reports_;
  std::function<void(ServiceReport&)> after_each_;  // null: none
};

}  // namespace esper::tamiyo
