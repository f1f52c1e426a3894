#include "base/ledger/settled_times.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace esper::base {
namespace {

__extension__ using Wide = unsigned __int128;

// `whole` in the proportions of `ticks`, to the nanosecond; all of it to `fallback` where there were no ticks.
OwnerTimes spread(Duration whole, const OwnerTicks& ticks, Owner fallback) {
  OwnerTimes times{};
  const auto all = std::accumulate(ticks.begin(), ticks.end(), std::uint64_t{0});
  if (all == 0) {
    times[index_of(fallback)] = whole;
    return times;
  }
  std::uint64_t passed = 0;
  Duration given(0);
  for (std::size_t i = 0; i < kNumOwners; ++i) {
    passed += ticks[i];
    const Duration until(static_cast<std::int64_t>(static_cast<Wide>(whole.count()) * passed / all));
    times[i] = until - given;
    given = until;
  }
  return times;
}

}  // namespace

SettledTimes::SettledTimes(Duration since, Duration until) : since_(since), until_(until), start_up_(until - since) {}

OwnerTimes SettledTimes::settle(Duration until, const OwnerTicks& ticks, Owner fallback) {
  const Duration end = std::max(until, until_);
  OwnerTimes interval = spread(end - until_, ticks, fallback);
  interval[index_of(Owner::kStartUp)] += std::exchange(start_up_, Duration(0));
  for (std::size_t i = 0; i < kNumOwners; ++i) totals_[i] += interval[i];
  until_ = end;
  return interval;
}

Duration SettledTimes::time_of(Owner owner) const {
  return totals_[index_of(owner)] + (owner == Owner::kStartUp ? start_up_ : Duration(0));
}

}  // namespace esper::base
