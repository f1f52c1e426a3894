#include "base/ledger/ledger.h"

#include <utility>

#include "base/ledger/span_log.h"

namespace esper::base {

Ledger::Ledger(Clock clock, Duration since)
    : clock_(std::move(clock)),
      last_(clock_.made_ticks()),
      settled_(std::min(since, clock_.made_at()), clock_.made_at()) {}

void Ledger::start_up_is_over() {
  if (current_ != Owner::kStartUp) return;
  start_up_end_ = now();
  charge(Owner::kIdle);
}

OwnerTimes Ledger::settle() {
  const std::uint64_t ticks = now();
  const OwnerTimes interval = settled_.settle(clock_.now(), ticks_of_, current_);
  ticks_of_.fill(0);
  clock_.calibrate(ticks, settled_.until());
  return interval;
}

Duration Ledger::so_far(Owner owner) {
  const std::uint64_t ticks = now();
  const double ns_per_tick = clock_.ns_per_tick(ticks, clock_.now());
  const auto running = static_cast<double>(ticks_of_[index_of(owner)]) * ns_per_tick;
  return settled_.time_of(owner) + Duration(static_cast<std::int64_t>(running));
}

LedgerEpoch::~LedgerEpoch() {
  SpanLog* const log = ledger_.watch().spans();
  if (log != nullptr) log->spans.add({begun_, ledger_.now(), number_, Span::Kind::kEpoch, ledger_.owner()});
}

}  // namespace esper::base
