#pragma once
// What `esper repro` says of a step that was run again, as text and as JSON. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "program/finite_trace.h"
#include "tolaria/checkpoint/step_bundle.h"

namespace esper::engine {

struct Reproduction {
  std::string bundle;  // its path
  tolaria::StepFacts facts;
  std::string result;  // what is not finite after the step: "the loss"; empty: nothing
  std::int64_t num_calls = 0;
  std::vector<program::BadCall> way;  // to the result, from where it began; empty where no call wrote it
};

std::string reproduction_text(const Reproduction& found);
// {bundle, run, step, epoch, reason, lane, learning_rate, reproduced, result, calls, first, way}; first: null, or the
// first of way, each {number, operation, bad_input, inputs, outputs}.
nlohmann::ordered_json reproduction_json(const Reproduction& found);

}  // namespace esper::engine
