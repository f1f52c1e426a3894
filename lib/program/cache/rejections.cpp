#include "program/cache/rejections.h"

#include <algorithm>

namespace esper::program {
namespace {

// Why two packages failed may lie outside of them, and be mended: a fault of the driver, for one.
constexpr base::Duration kFailureHolds = std::chrono::hours(24);

}  // namespace

// Several processes may fail with one package, which the first of them moves away: that is one failure, also where the
// program was compiled again since. A package that is wrong makes every other one of its program so.
void Rejections::reject(const std::string& key, EntryFault fault, const std::string& reason, const std::string& mac) {
  const bool failed = fault == EntryFault::kFailed;
  if (failed && entries_.is_replaced(key, mac)) return keep_reason(quarantine_, key, clock_.wall(), fault, reason);
  const bool again = failed && this->reason(key, EntryFault::kFailed) && entries_.exists(key);
  move_to_quarantine(quarantine_, entries_.path(key), clock_.wall(), again ? EntryFault::kFailedAgain : fault,
                     (again ? "it was compiled again and failed again: " : "") + reason);
}

std::optional<std::string> Rejections::why_unusable(const std::string& key) const {
  if (auto wrong = reason(key, EntryFault::kWrong)) return wrong;
  const base::Duration since = std::max(clock_.wall() - kFailureHolds, base::Duration(0));
  return reason_in_quarantine(quarantine_, key, EntryFault::kFailedAgain, since);
}

}  // namespace esper::program
