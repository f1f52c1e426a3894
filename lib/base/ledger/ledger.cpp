#include "base/ledger/ledger.h"

#include <numeric>

#include "base/error.h"
#include "base/ledger/span_log.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace esper::base {
namespace {

// The counter runs at one rate in every power state: constant_tsc and nonstop_tsc in /proc/cpuinfo (AMD64 manual volume
// 3, CPUID function 8000_0007h, EDX bit 8).
bool has_steady_counter() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8)) != 0;
#else
  return false;
#endif
}

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

Ledger::Ledger(Clock clock) : Ledger(clock, clock.now()) {}

Ledger::Ledger(Clock clock, Duration since)
    : clock_(std::move(clock)), counter_(!clock_.is_manual() && has_steady_counter()) {
  last_ = born_ticks_ = read();
  born_at_ = settled_at_ = clock_.now();
  since_ = std::min(since, born_at_);
  unsettled_[index_of(Owner::kStartUp)] = born_at_ - since_;
}

Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

void Ledger::set_hooks(LedgerHooks hooks) {
  ESPER_CHECK((hooks.on_enter == nullptr) == (hooks.on_leave == nullptr), "both hooks or none");
  hooks_ = hooks;
  watched_ = hooks_.on_enter != nullptr || spans_;
}

void Ledger::keep_spans() {
  spans_ = std::make_unique<SpanLog>();
  watched_ = true;
}

void Ledger::start_up_is_over() {
  if (current_ != Owner::kStartUp) return;
  start_up_end_ = advance();
  current_ = Owner::kIdle;
}

StepQuantiles Ledger::take_step_quantiles() {
  const double us = ns_per_tick_ / 1000;
  const StepQuantiles quantiles{step_times_.count(), step_times_.quantile(0.5) * us, step_times_.quantile(0.95) * us};
  step_times_.clear();
  return quantiles;
}

OwnerTimes Ledger::settle() {
  const std::uint64_t ticks = advance();
  const Duration at = std::max(clock_.now(), settled_at_);
  OwnerTimes interval = spread(at - settled_at_, ticks_of_, current_);
  for (std::size_t i = 0; i < kNumOwners; ++i) {
    interval[i] += std::exchange(unsettled_[i], Duration(0));
    totals_[i] += interval[i];
  }
  ticks_of_.fill(0);
  settled_at_ = at;
  if (ticks > born_ticks_ && at > born_at_) {
    ns_per_tick_ = static_cast<double>((at - born_at_).count()) / static_cast<double>(ticks - born_ticks_);
  }
  return interval;
}

Duration Ledger::so_far(Owner owner) {
  const std::uint64_t ticks = advance();
  const auto passed = static_cast<double>((clock_.now() - born_at_).count());
  const double ns_per_tick = ticks > born_ticks_ ? passed / static_cast<double>(ticks - born_ticks_) : ns_per_tick_;
  const std::size_t i = index_of(owner);
  const auto running = static_cast<std::int64_t>(static_cast<double>(ticks_of_[i]) * ns_per_tick);
  return totals_[i] + unsettled_[i] + Duration(running);
}

Duration Ledger::time_of(std::uint64_t ticks) const {
  const auto passed = static_cast<double>(std::max(ticks, born_ticks_) - born_ticks_);
  return born_at_ - since_ + Duration(static_cast<std::int64_t>(passed * ns_per_tick_));
}

void Ledger::record_enter() {
  if (hooks_.on_enter != nullptr) hooks_.on_enter(current_);
}

void Ledger::record_leave(std::uint64_t begun, std::uint64_t now) {
  if (hooks_.on_leave != nullptr) hooks_.on_leave(current_);
  if (spans_) spans_->spans.add({begun, now, step_, Span::Kind::kOwner, current_});
}

void Ledger::record_step(std::int64_t number, std::uint64_t now) {
  step_ = number;
  if (spans_) spans_->spans.add({step_begin_, now, number, Span::Kind::kStep, current_});
}

LedgerEpoch::~LedgerEpoch() {
  if (!ledger_.spans()) return;
  ledger_.spans()->spans.add({begun_, ledger_.now(), number_, Span::Kind::kEpoch, ledger_.owner()});
}

}  // namespace esper::base
