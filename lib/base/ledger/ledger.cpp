#include "base/ledger/ledger.h"

#include <numeric>
#include <utility>

#include "base/ledger/span_log.h"

namespace esper::base {
namespace {

__extension__ using Wide = unsigned __int128;

// `whole` in the proportions of `ticks`, to the nanosecond; all of it to `fallback` where there were no ticks.
OwnerTimes spread(Duration whole, const std::array<std::uint64_t, kNumOwners>& ticks, Owner fallback) {
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

Ledger::Ledger(Clock clock, Duration since)
    : clock_(std::move(clock)),
      last_(clock_.made_ticks()),
      since_(std::min(since, clock_.made_at())),
      settled_at_(clock_.made_at()) {
  unsettled_[index_of(Owner::kStartUp)] = settled_at_ - since_;
}

void Ledger::start_up_is_over() {
  if (current_ != Owner::kStartUp) return;
  start_up_end_ = now();
  current_ = Owner::kIdle;
}

OwnerTimes Ledger::settle() {
  const std::uint64_t ticks = now();
  const Duration at = std::max(clock_.now(), settled_at_);
  OwnerTimes interval = spread(at - settled_at_, ticks_of_, current_);
  for (std::size_t i = 0; i < kNumOwners; ++i) {
    interval[i] += std::exchange(unsettled_[i], Duration(0));
    totals_[i] += interval[i];
  }
  ticks_of_.fill(0);
  settled_at_ = at;
  clock_.calibrate(ticks, at);
  return interval;
}

Duration Ledger::so_far(Owner owner) {
  const std::uint64_t ticks = now();
  const double ns_per_tick = clock_.ns_per_tick(ticks, clock_.now());
  const std::size_t i = index_of(owner);
  const auto running = static_cast<std::int64_t>(static_cast<double>(ticks_of_[i]) * ns_per_tick);
  return totals_[i] + unsettled_[i] + Duration(running);
}

LedgerEpoch::~LedgerEpoch() {
  SpanLog* const log = ledger_.watch().spans();
  if (log != nullptr) log->spans.add({begun_, ledger_.now(), number_, Span::Kind::kEpoch, ledger_.owner()});
}

}  // namespace esper::base
