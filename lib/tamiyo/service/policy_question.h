#pragma once
// What a policy is asked after an epoch, as plain data, and as JSON that gives the same question, bit for bit: a
// checkpoint that is saved while the policy thinks holds the question, and a resumed run asks it again.

#include <nlohmann/json_fwd.hpp>

#include "base/expected.h"
#include "leyline/observation.h"
#include "tamiyo/service/evaluation.h"

namespace esper::tamiyo {

// In a policy's saved state: the question that it has not answered yet.
inline constexpr char kOpenQuestion[] = "question";

struct PolicyQuestion {
  leyline::Observation observation;
  RunFigures figures = {};  // that the service judges the decision by
};

nlohmann::json question_json(const PolicyQuestion& question);
base::Expected<PolicyQuestion> read_question(const nlohmann::json& saved);

}  // namespace esper::tamiyo
