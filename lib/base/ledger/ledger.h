#pragma once
// The account of the training thread's time: at every moment exactly one owner has it.
//
//   { LedgerScope waiting(ledger, Owner::kLoaderWait);  batch = loader.next(); }
//
// A nested scope replaces the outer one until it ends. Time without a scope is idle, and start-up until
// start_up_is_over(). The owners' times sum to the wall time by construction: a switch gives the ticks since the last
// one to whom they belong, and settle() spreads the monotonic clock's interval over the ticks of that interval
// (settled_times.h). So ticks (tick_clock.h, read twice a scope) need no calibration. Training thread.

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/ledger/ledger_watch.h"
#include "base/ledger/owner.h"
#include "base/ledger/settled_times.h"
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
  // The ticks when they were last read.
  std::uint64_t last() const { return last_; }
  // Who has the time since then. Rather use LedgerScope.
  void charge(Owner owner) { current_ = owner; }

  // From here on time without a scope is idle.
  void start_up_is_over();
  // How long it took; 0 while it lasts.
  Duration start_up() const { return start_up_end_ == 0 ? Duration(0) : time_of(start_up_end_); }

  StepTimes& step_times() { return step_times_; }
  // Of the steps since the last call.
  StepQuantiles take_step_quantiles() { return step_times_.take(clock_.ns_per_tick()); }

  // What each owner had since the last call; sums to the nanosecond to the clock's time between the two calls.
  OwnerTimes settle();
  // All intervals settled so far.
  const SettledTimes& settled() const { return settled_; }
  // The time since the last settle().
  Duration unsettled() const { return clock_.now() - settled_.until(); }
  // What the owner has had so far, without settling: for differences within one process, exact to a few parts in 1e4.
  Duration so_far(Owner owner);
  // Since the account began; as exact as the last settle() made it. Never decreases with `ticks`.
  Duration time_of(std::uint64_t ticks) const { return clock_.made_at() - settled_.since() + clock_.since_made(ticks); }

 private:
  TickClock clock_;
  LedgerWatch watch_;
  Owner current_ = Owner::kStartUp;
  std::uint64_t last_;
  OwnerTicks ticks_of_{};  // since the last settle()
  StepTimes step_times_;
  std::uint64_t start_up_end_ = 0;
  SettledTimes settled_;
};

// For a scope that follows a step, or another scope, at once: what lies between is its own, and it costs one switch
// less.
struct SinceLast {};

class LedgerScope {
 public:
  LedgerScope(Ledger& ledger, Owner owner) : ledger_(ledger), outer_(ledger.owner()), begun_(ledger.now()) {
    enter(owner);
  }
  LedgerScope(Ledger& ledger, Owner owner, SinceLast) : ledger_(ledger), outer_(ledger.owner()), begun_(ledger.last()) {
    enter(owner);
  }
  ~LedgerScope() {
    const std::uint64_t ticks = ledger_.now();
    if (ledger_.watch().is_on()) [[unlikely]]
      ledger_.watch().left(ledger_.owner(), begun_, ticks);
    ledger_.charge(outer_);
  }
  LedgerScope(const LedgerScope&) = delete;
  LedgerScope& operator=(const LedgerScope&) = delete;

 private:
  void enter(Owner owner) {
    ledger_.charge(owner);
    if (ledger_.watch().is_on()) [[unlikely]]
      ledger_.watch().entered(owner);
  }

  Ledger& ledger_;
  const Owner outer_;
  const std::uint64_t begun_;
};

// How long a step takes. It begins where the last scope ended: make it right after the batch was had, which costs
// nothing. Only a step that end() is called for counts.
class LedgerStep {
 public:
  explicit LedgerStep(Ledger& ledger) : ledger_(ledger), begun_(ledger.last()) {}
  LedgerStep(const LedgerStep&) = delete;
  LedgerStep& operator=(const LedgerStep&) = delete;

  // One read of the counter. `number`: for the trace.
  void end(std::int64_t number) {
    const std::uint64_t ticks = ledger_.now();
    ledger_.step_times().add(ticks - begun_);
    if (ledger_.watch().is_on()) [[unlikely]]
      ledger_.watch().step_ended(number, ledger_.owner(), begun_, ticks);
  }

 private:
  Ledger& ledger_;
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
