#include "tamiyo/service/field_report.h"

#include <algorithm>

namespace esper::tamiyo {

Outcome outcome_of(std::string_view risk_reason) {
  constexpr std::array<std::string_view, 3> kRegressions{"loss_spike", "isolation_violations", "hook_budget"};
  constexpr std::array<std::string_view, 4> kNeutral{"timeout_inference", "conservative_mode", "runtime_failure",
                                                     "breaker_open"};
  if (std::ranges::find(kRegressions, risk_reason) != kRegressions.end()) return Outcome::kRegression;
  if (std::ranges::find(kNeutral, risk_reason) != kNeutral.end()) return Outcome::kNeutral;
  return Outcome::kSuccess;
}

}  // namespace esper::tamiyo
