#pragma once
// After which epochs a run's policy is asked, what its service gets besides the observation, and what is reported
// where no decision comes. Pure functions.

#include <optional>

#include "leyline/telemetry/telemetry_packet.h"
#include "tamiyo/service/answer.h"
#include "tamiyo/service/evaluation.h"
#include "tolaria/growth/observe.h"

namespace esper::tolaria {

// Of an epoch's end.
struct GrowthTimes {
  double hook_ms = 0;     // the policy and its commands
  double waiting_ms = 0;  // of these, asking the policy and waiting for it
};

// Somebody is asked.
bool asks_policy(const config::RunConfig& config);

// Whether `policy.every` has come with the epoch that has just been counted. The last epoch always counts.
bool is_question_due(const RunFacts& facts, const RunProgress& progress, const EpochResults& results);

// last: of the last epoch's end at which the policy was asked or its commands were carried out. Times of this machine
// only where the run file asks for it.
tamiyo::RunFigures policy_figures(const config::RunConfig& config, const EpochResults& results,
                                  const GrowthTimes& last);

// Nothing where the policy decided, or was not asked: its service reports that.
std::optional<leyline::TelemetryEvent> no_decision_event(const tamiyo::Answer& answer, base::Duration deadline);

}  // namespace esper::tolaria
