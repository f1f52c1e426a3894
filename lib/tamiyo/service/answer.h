#pragma once
// What came of asking a policy. Plain data.

#include <array>
#include <string>
#include <utility>

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
constexpr auto names(Answer::Kind) {
  using K = Answer::Kind;
  return std::array{std::pair{K::kDecided, "decided"}, std::pair{K::kLate, "late"}, std::pair{K::kBusy, "busy"},
                    std::pair{K::kFailed, "failed"}, std::pair{K::kBreakerOpen, "breaker_open"}};
}

// Whether the policy was asked, so that the answer's latency is one.
constexpr bool was_asked(Answer::Kind kind) {
  return kind != Answer::Kind::kBusy && kind != Answer::Kind::kBreakerOpen;
}

}  // namespace esper::tamiyo
