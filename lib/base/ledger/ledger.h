#pragma once
// The account of the training thread's time: at every moment exactly one owner has it.
//
//   { LedgerScope waiting(ledger, Owner::kLoaderWait);  batch = loader.next(); }
//
// A nested scope replaces the outer one until it ends. Time without a scope is idle, and start-up until
// start_up_is_over(). The owners' times sum to the wall time by construction: a switch gives the ticks since the last
// one to whom they belong, and settle() spreads the monotonic clock's interval over the ticks of that interval. So
// ticks need no calibration, and a processor whose counter runs at a constant rate is read directly (twice a
// scope, some 10 ns each); elsewhere, and on a manual clock, a tick is a nanosecond of the clock. Training thread.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/ledger/owner.h"
#include "base/ledger/step_times.h"

namespace esper::base {

struct SpanLog;

// Called for every scope, for ranges in a profiler (NVTX). Both or none.
struct LedgerHooks {
  void (*on_enter)(Owner) = nullptr;
  void (*on_leave)(Owner) = nullptr;
};

struct StepQuantiles {
  std::uint64_t steps = 0;
  double p50_us = 0, p95_us = 0;
};

class Ledger {
 public:
  explicit Ledger(Clock clock = {});
  // `since`: where the account begins (monotonic, not in the future); the time until now is start-up.
  Ledger(Clock clock, Duration since);
  ~Ledger();
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;

  void set_hooks(LedgerHooks hooks);
  // From now on scopes, steps and epochs are kept for a trace. No scope may be open.
  void keep_spans();

  Owner owner() const { return current_; }
  // Rather use LedgerScope. Both return the ticks now.
  std::uint64_t enter(Owner owner) {
    const std::uint64_t now = advance();
    current_ = owner;
    if (watched_) [[unlikely]]
      record_enter();
    return now;
  }
  // The same without reading the time: the owner has what has passed since the last read.
  std::uint64_t enter_since_last(Owner owner) {
    current_ = owner;
    if (watched_) [[unlikely]]
      record_enter();
    return last_;
  }
  void leave(Owner outer, std::uint64_t begun) {
    const std::uint64_t now = advance();
    if (watched_) [[unlikely]]
      record_leave(begun, now);
    current_ = outer;
  }

  // From here on time without a scope is idle.
  void start_up_is_over();

  // A step begins where the last scope ended: call it right after the batch was had. Costs nothing.
  void begin_step() { step_begin_ = last_; }
  // One read of the counter. `number`: for the trace.
  void end_step(std::int64_t number) {
    const std::uint64_t now = advance();
    step_times_.add(now - step_begin_);
    if (watched_) [[unlikely]]
      record_step(number, now);
  }
  // Of the steps since the last call.
  StepQuantiles take_step_quantiles();

  // What each owner had since the last call; sums to the nanosecond to the clock's time between the two calls.
  OwnerTimes settle();
  // The time since the last settle().
  Duration unsettled() const { return clock_.now() - settled_at_; }
  // What the owner has had so far, without settling: for differences within one process, exact to a few parts in 1e4.
  Duration so_far(Owner owner);
  // Of all settled intervals, and their sum as the clock measured it.
  const OwnerTimes& totals() const { return totals_; }
  Duration wall() const { return settled_at_ - since_; }

  // For the trace; null without keep_spans().
  SpanLog* spans() { return spans_.get(); }
  const SpanLog* spans() const { return spans_.get(); }
  std::uint64_t now() { return advance(); }
  // Since the account began; as exact as the last settle() made it. Never decreases with `ticks`.
  Duration time_of(std::uint64_t ticks) const;
  // How long it took; 0 while it lasts.
  Duration start_up() const { return start_up_end_ == 0 ? Duration(0) : time_of(start_up_end_); }

 private:
  std::uint64_t read() const {
#if defined(__x86_64__)
    if (counter_) return __builtin_ia32_rdtsc();
#endif
    return static_cast<std::uint64_t>(clock_.now().count());
  }
  // Closes the running interval. A counter that jumps back, as on a moved virtual machine, is not charged.
  std::uint64_t advance() {
    const std::uint64_t now = std::max(read(), last_);
    ticks_of_[index_of(current_)] += now - last_;
    last_ = now;
    return now;
  }
  void record_enter();
  void record_leave(std::uint64_t begun, std::uint64_t now);
  void record_step(std::int64_t number, std::uint64_t now);

  Clock clock_;
  bool counter_;  // ticks are the processor's
  bool watched_ = false;
  Owner current_ = Owner::kStartUp;
  std::uint64_t last_;
  std::array<std::uint64_t, kNumOwners> ticks_of_{};
  std::uint64_t step_begin_ = 0;
  StepTimes step_times_;

  Duration since_, born_at_, settled_at_;
  std::uint64_t born_ticks_;
  double ns_per_tick_ = 1;
  OwnerTimes totals_{};
  OwnerTimes unsettled_{};  // start-up before this object was made
  std::uint64_t start_up_end_ = 0;
  LedgerHooks hooks_;
  std::int64_t step_ = 0;
  std::unique_ptr<SpanLog> spans_;
};

// For a scope that follows a step, or another scope, at once: what lies between is its own, and it costs one switch
// less.
struct SinceLast {};

class LedgerScope {
 public:
  LedgerScope(Ledger& ledger, Owner owner) : ledger_(ledger), outer_(ledger.owner()), begun_(ledger.enter(owner)) {}
  LedgerScope(Ledger& ledger, Owner owner, SinceLast)
      : ledger_(ledger), outer_(ledger.owner()), begun_(ledger.enter_since_last(owner)) {}
  ~LedgerScope() { ledger_.leave(outer_, begun_); }
  LedgerScope(const LedgerScope&) = delete;
  LedgerScope& operator=(const LedgerScope&) = delete;

 private:
  Ledger& ledger_;
  const Owner outer_;
  const std::uint64_t begun_;
};

// An epoch, for the trace alone; owns no time. Opened and closed outside of scopes.
class LedgerEpoch {
 public:
  LedgerEpoch(Ledger& ledger, std::int64_t number)
      : ledger_(ledger), number_(number), begun_(ledger.spans() ? ledger.now() : 0) {}
  ~LedgerEpoch();
  LedgerEpoch(const LedgerEpoch&) = delete;
  LedgerEpoch& operator=(const LedgerEpoch&) = delete;

 private:
  Ledger& ledger_;
  const std::int64_t number_;
  const std::uint64_t begun_;
};

}  // namespace esper::base
