#include "tolaria/safety/conservative_mode.h"

#include <utility>

#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

void ConservativeMode::follow(Decision decision, std::int64_t streak) {
  const bool is_missing = decision == Decision::kMissing;
  constexpr const char* kReason = "the policy did not decide";
  if (is_missing) emergency_.raise(EmergencyLevel::kConservative, streak, kReason);
  if (std::exchange(is_on_, is_missing) == is_missing) return;
  outbox_.emit(is_missing ? event("tolaria.conservative_mode_entered"_event, Level::kWarning, {{"reason", kReason}})
                          : event("tolaria.conservative_mode_cleared"_event, Level::kInfo));
}

}  // namespace esper::tolaria
