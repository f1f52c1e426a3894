#pragma once
// What came of asking a policy. Plain data.

#include <string>

#include "leyline/command.h"

namespace esper::tamiyo {

struct Answer {
  enum class Kind {
    kDecided,
    kLate,         // no answer before the deadline: the default, no commands, applies
    kBusy,         // an earlier decision is still running; not asked
    kFailed,       // the controller threw, while deciding or saving its state
    kBreakerOpen,  // the circuit breaker is open; not asked
  } kind = Kind::kDecided;
  leyline::Decision decision;
  std::string problem;
  double latency_ms = 0;
};

}  // namespace esper::tamiyo
