#pragma once
// Between what came of asking a run's policy and its record in the log of decisions. Pure functions.

#include <map>
#include <string>

#include "leyline/decision_record.h"
#include "tamiyo/service/policy_service.h"

namespace esper::tamiyo {

leyline::AnswerRecord answer_record(const Answer& answer);
// Fails for an outcome that is none of names(Answer::Kind).
base::Expected<Answer> answer_of(const leyline::AnswerRecord& record);

// By name; what was not measured is left out. run_figures() of it are the same figures; other names are ignored.
std::map<std::string, double> named_figures(const RunFigures& figures);
RunFigures run_figures(const std::map<std::string, double>& named);

// Without the details, which the answer has.
leyline::Decision carried_out(const Evaluation& evaluation);

// policy: the kind that decides.
leyline::DecisionRecord decision_record(const std::string& policy, const leyline::Observation& observation,
                                        const RunFigures& figures, const ServiceReport& report);

}  // namespace esper::tamiyo
