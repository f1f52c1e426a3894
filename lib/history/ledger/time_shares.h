#pragma once
// A run's time by owner, as it is shown: the largest first. Pure functions.

#include <array>
#include <vector>

#include "base/ledger/owner.h"
#include "history/ledger/run_ledger.h"

namespace esper::history {

struct TimeShare {
  base::Owner owner;
  double ms, percent;
};

// An owner that is reported as a part of another.
struct OwnerPart {
  base::Owner part, whole;
  const char* label;
};
inline constexpr std::array kOwnerParts{OwnerPart{base::Owner::kStartUp, base::Owner::kIdle, "start-up"},
                                        OwnerPart{base::Owner::kControl, base::Owner::kValidation, "controls"}};

// The ten owners that are no part of another, with their parts.
std::vector<TimeShare> time_shares(const RunLedger& ledger);

}  // namespace esper::history
