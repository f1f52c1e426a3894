#pragma once
// One evaluation of the policy, from its answer to what is carried out, as a function over plain data:
//
//   the breaker says whether the policy may be asked -> answer (decided, late, busy, failed)
//   -> the decision is checked -> the breaker counts -> risk rules -> commands are held back -> conservative mode
//
// Whatever fails, the result is a decision: the default is no commands. policy_service.h asks and reports.

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "leyline/command.h"
#include "leyline/observation.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tamiyo/service/answer.h"
#include "tamiyo/service/field_reports.h"
#include "tamiyo/service/risk.h"
#include "tamiyo/service/service_state.h"

namespace esper::tamiyo {

struct ServiceSettings {
  BreakerSettings breaker;
  RiskThresholds risk;
  int recovery_evaluations = 1;  // calm ones in a row that end conservative mode
  FieldReportSettings reports;
};

// Of the run, besides the observation; what was not measured triggers no rule. Times make decisions that a resumed
// run may not repeat: leave them out where that matters.
struct RunFigures {
  std::optional<double> hook_ms = {}, step_ms = {}, apply_ms = {};
  std::optional<double> isolation_violations = {};
  std::optional<double> gpu_utilization_percent = {}, gpu_free_gb = {}, cpu_utilization_percent = {};
  std::optional<double> gradient_conflict = {};
};

// What the service did in the policy's place.
struct Fallbacks {
  bool seed = false;             // the decision named a seed or slot that is not there
  bool blueprint = false;        // it named a blueprint that its slot cannot grow
  bool runtime = false;          // the policy failed, or its decision is malformed
  bool synthetic_pause = false;  // there was no decision to carry out
};

struct Evaluation {
  Answer answer;            // its decision is what is to be carried out
  std::string risk_reason;  // of what was changed; "policy" where nothing was
  Change change = Change::kNone;
  std::vector<Finding> findings;  // of the risk rules, in order
  Fallbacks fallbacks;
  std::optional<leyline::Assessment> assessment;  // of the decision, carried out or not
  std::optional<double> loss_delta;
  std::vector<leyline::TelemetryEvent> events;
};

// What the commands are for: as Observation::held_back has it.
std::vector<std::string> targets_of(const std::vector<leyline::AdaptationCommand>& commands);

// Before the policy is asked: whether it may be. Adds what happened to the breaker.
bool may_ask(ServiceState& state, const ServiceSettings& settings, base::Duration now,
             std::vector<leyline::TelemetryEvent>& events);

struct EvaluationInputs {
  const leyline::Observation& observation;
  Answer answer;
  RunFigures run;
  base::Duration now{};  // monotonic
};
Evaluation evaluate(EvaluationInputs inputs, ServiceState& state, const ServiceSettings& settings);

}  // namespace esper::tamiyo
