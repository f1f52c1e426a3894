#pragma once
// Whether a decision is well formed and names only what the observation has: the network would reject it in part, but
// who decides so cannot be trusted with the rest. Pure functions.

#include <string>

#include "base/expected.h"
#include "leyline/command.h"
#include "leyline/observation.h"

namespace esper::tamiyo {

struct DecisionProblem {
  enum class Kind { kMalformed, kUnknownSeed, kUnknownBlueprint } kind = Kind::kMalformed;
  std::string text;
};

inline constexpr std::size_t kMostCommands = 64;

base::Expected<void, DecisionProblem> check_decision(const leyline::Decision& decision,
                                                     const leyline::Observation& observation);

}  // namespace esper::tamiyo
