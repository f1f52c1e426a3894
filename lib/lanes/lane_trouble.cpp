#include "lanes/lane_trouble.h"

#include <utility>

#include "base/names.h"
#include "base/text/rounding.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::digits;

using config::Lane;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// The state may be half written: the run ends with the error, and the next one does without this program.
void LaneTrouble::put_away_failed(const FastLane& lane, const std::string& reason) {
  ++figures_.quarantined;
  services_.desk->quarantine(lane.key(), program::EntryFault::kDamaged, reason);
  services_.tell(
      event("tolaria.compile_runtime_fallback"_event, Level::kError, {{"error", "step failed"}, {"reason", reason}}));
}

void LaneTrouble::put_away(const FastLane& lane, Cause cause, const std::string& reason,
                           const program::Difference* where) {
  ++figures_.refusals;
  const Level level = cause == Cause::kNotFaster ? Level::kInfo : Level::kWarning;
  leyline::TelemetryEvent refused = event("tolaria.lane_refused"_event, level,
                                          {{"lane", std::string(base::name_of(lane.lane()))}, {"reason", reason}});
  if (where != nullptr) {
    refused.attributes["tensor"] = where->tensor;
    refused.attributes["difference"] = digits(where->difference, 3);
    refused.attributes["tolerance"] = digits(where->tolerance, 3);
  }
  services_.tell(std::move(refused));
  if (cause != Cause::kErred || lane.lane() != Lane::kCompiled) return;
  ++figures_.quarantined;
  // Only a wrong answer is one for good; what was thrown may have been a lack of memory.
  const auto fault = where != nullptr ? program::EntryFault::kWrong : program::EntryFault::kDamaged;
  services_.desk->quarantine(lane.key(), fault, reason);
}

void LaneTrouble::tell_no_compiler(const std::string& kind, const std::string& reason) {
  if (std::exchange(told_no_compiler_, true)) return;
  services_.tell(event("tolaria.compile_fallback"_event, Level::kWarning, {{"error", kind}, {"reason", reason}}));
}

}  // namespace esper::lanes
