#pragma once
// Decisions made again from the log: the same ones, to check them, or by another policy. Used by one thread.

#include <optional>
#include <string>
#include <vector>

#include "leyline/controller.h"
#include "leyline/decision_record.h"
#include "tamiyo/service/evaluation.h"

namespace esper::tamiyo {

struct Replayed {
  std::optional<leyline::Decision> decision;  // nothing: the policy fails now, or has not decided then
  std::string problem;                        // why not
  std::string difference;                     // where it first differs from the recorded one; empty: nowhere
};

// What a controller answers to the record's observation in this state. Only what was "decided" can be made again: when
// a policy was late or failed, there is nothing to compare with.
Replayed replay(const leyline::Observation& observation, const std::string& state, const leyline::AnswerRecord& answer,
                leyline::Controller& controller);

// What the service makes of the recorded answer; fails with the reason where the record has no service, or cannot be
// read.
base::Expected<Evaluation> evaluate_again(const leyline::DecisionRecord& record, const ServiceSettings& settings);

// Where what the service makes of the recorded answer differs from what was carried out; nothing where it is the same,
// or the record is of a run without the service.
std::optional<std::string> service_difference(const leyline::DecisionRecord& record, const ServiceSettings& settings);

// What another policy decides of the observation: it knows the run's seeds as the one that decided then did, and
// remembers the observations that it was asked about before, in order.
Replayed decide_instead(const leyline::DecisionRecord& record, leyline::Controller& controller);

}  // namespace esper::tamiyo
