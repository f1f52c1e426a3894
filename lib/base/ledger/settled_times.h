#pragma once
// What each owner had over intervals that follow one another without a gap. The owners' times of an interval sum to it
// to the nanosecond. One thread.

#include "base/clock.h"
#include "base/ledger/owner.h"

namespace esper::base {

class SettledTimes {
 public:
  // The account begins at `since`, which is at most `until`. The time between is start-up, in the first interval.
  SettledTimes(Duration since, Duration until);

  // Ends an interval at `until`, at the last one's end where that is later, and spreads it in proportion to `ticks`.
  // The fallback has all of it where there were none.
  OwnerTimes settle(Duration until, const OwnerTicks& ticks, Owner fallback);

  Duration since() const { return since_; }
  // Where the last interval ended.
  Duration until() const { return until_; }
  Duration wall() const { return until_ - since_; }
  // Of all intervals; they sum to wall() from the first one on.
  const OwnerTimes& totals() const { return totals_; }
  // The owner's total, with start-up that is in no interval yet.
  Duration time_of(Owner owner) const;

 private:
  Duration since_, until_;
  OwnerTimes totals_{};
  Duration start_up_;  // not in an interval yet
};

}  // namespace esper::base
