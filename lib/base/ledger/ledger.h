#pragma once
// The account of the training thread's time: at every moment exactly one owner has it.
//
//   { LedgerScope waiting(ledger, Owner::kLoaderWait);  batch = loader.next(); }
//
// A nested scope replaces the outer one until it ends. Time without a scope is idle, and start-up until
// start_up_is_over(). The owners' times sum to the wall time by construction: a switch gives the ticks since the last
// one to whom they belong, and settle() spreads the monotonic clock's interval over the ticks of that interval. So
// ticks (tick_clock.h, read twice a scope) need no calibration. Training thread.

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/ledger/ledger_watch.h"
#include "base/ledger/owner.h"
#include "base/ledger/step_times.h"
#include "base/ledger/tick_clock.h"

namespace esper::base {

class Ledger {
 public:
  // `since`: where the account begins (monotonic); one in the future is now. The time until now is start-up.
  explicit Ledger(Clock clock = {}, Duration since = Duration::max());

  // For a profiler and a trace.
  LedgerWatch& watch() { return watch_; }
  const LedgerWatch& watch() const { return watch_; }

  Owner owner() const { return current_; }
  // The ticks now. Closes the running interval; a counter that jumps back, as on a moved virtual machine, is not
  // charged.
  std::uint64_t now() {
    const std::uint64_t ticks = std::max(clock_.read(), last_);
    ticks_of_[index_of(current_)] += ticks - last_;
    last_ = ticks;
    return ticks;
  }
  // Rather use LedgerScope. Both return the ticks now.
  std::uint64_t enter(Owner owner) {
    now();
    return enter_since_last(owner);
  }
  // The same without reading the time: the owner has what has passed since the last read.
  std::uint64_t enter_since_last(Owner owner) {
    current_ = owner;
    if (watch_.is_on()) [[unlikely]]
      watch_.entered(owner);
    return last_;
  }
  void leave(Owner outer, std::uint64_t begun) {
    const std::uint64_t ticks = now();
    if (watch_.is_on()) [[unlikely]]
      watch_.left(current_, begun, ticks);
    current_ = outer;
  }

  // From here on time without a scope is idle.
  void start_up_is_over();

  // A step begins where the last scope ended: call it right after the batch was had. Costs nothing.
  void begin_step() { step_begin_ = last_; }
  // One read of the counter. `number`: for the trace.
  void end_step(std::int64_t number) {
    const std::uint64_t ticks = now();
    step_times_.add(ticks - step_begin_);
    if (watch_.is_on()) [[unlikely]]
      watch_.step_ended(number, current_, step_begin_, ticks);
  }
  // Of the steps since the last call.
  StepQuantiles take_step_quantiles() { return step_times_.take(clock_.ns_per_tick()); }

  // What each owner had since the last call; sums to the nanosecond to the clock's time between the two calls.
  OwnerTimes settle();
  // The time since the last settle().
  Duration unsettled() const { return clock_.now() - settled_at_; }
  // What the owner has had so far, without settling: for differences within one process, exact to a few parts in 1e4.
  Duration so_far(Owner owner);
  // Of all settled intervals, and their sum as the clock measured it.
  const OwnerTimes& totals() const { return totals_; }
  Duration wall() const { return settled_at_ - since_; }

  // Since the account began; as exact as the last settle() made it. Never decreases with `ticks`.
  Duration time_of(std::uint64_t ticks) const { return clock_.made_at() - since_ + clock_.since_made(ticks); }
  // How long it took; 0 while it lasts.
  Duration start_up() const { return start_up_end_ == 0 ? Duration(0) : time_of(start_up_end_); }

 private:
  TickClock clock_;
  LedgerWatch watch_;
  Owner current_ = Owner::kStartUp;
  std::uint64_t last_;
  std::array<std::uint64_t, kNumOwners> ticks_of_{};  // since the last settle()
  std::uint64_t step_begin_ = 0;
  StepTimes step_times_;
  std::uint64_t start_up_end_ = 0;

  Duration since_, settled_at_;
  OwnerTimes totals_{};
  OwnerTimes unsettled_{};  // start-up before this object was made
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
      : ledger_(ledger), number_(number), begun_(ledger.watch().spans() ? ledger.now() : 0) {}
  ~LedgerEpoch();
  LedgerEpoch(const LedgerEpoch&) = delete;
  LedgerEpoch& operator=(const LedgerEpoch&) = delete;

 private:
  Ledger& ledger_;
  const std::int64_t number_;
  const std::uint64_t begun_;
};

}  // namespace esper::base
