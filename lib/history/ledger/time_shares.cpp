#include "history/ledger/time_shares.h"

#include <algorithm>

namespace esper::history {

std::vector<TimeShare> time_shares(const RunLedger& ledger) {
  std::vector<TimeShare> shares;
  for (const auto& [owner, name] : names(base::Owner{})) {
    if (std::ranges::find(kOwnerParts, owner, &OwnerPart::part) != kOwnerParts.end()) continue;
    double ms = ledger.of(owner);
    for (const OwnerPart& it : kOwnerParts) ms += it.whole == owner ? ledger.of(it.part) : 0;
    shares.push_back({owner, ms, 100 * ms / ledger.wall_ms});
  }
  std::ranges::stable_sort(shares, std::ranges::greater(), &TimeShare::ms);
  return shares;
}

}  // namespace esper::history
