#pragma once
// A run's growth from its journal: what is still true of the run (a resumed run takes back what came after its
// checkpoint), and the topology at any place of it. Any thread, one at a time.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/growth/growth_record.h"

namespace esper::history {

// A gap of missing records: an existing one does not follow from those before it.
struct GrowthGap {
  std::size_t after = 0, before = 0;  // the records around it
  RunPlace from, to;                  // and their places
  std::string why;                    // what does not follow: "r0c0 is DORMANT, not TRAINING"
  std::size_t sound_from = 0;         // the record from which on the topology is sure again; 0: not up to the end
};
// "records are missing before step 20 (between record 3 of the journal, of epoch 1, step 8, and record 5): ..."
std::string describe(const GrowthGap& gap);

class GrowthHistory {
 public:
  static constexpr std::size_t kMostRecords = 200'000;
  static constexpr std::size_t kMostBytes = 256 << 20;  // of their texts
  static constexpr std::size_t kMostDamaged = 10;       // whose numbers are kept

  // Takes in one record of the journal, in order, from the first one or from that of a later file on.
  void take(std::string_view text);

  // Those that hold, in order.
  const std::vector<GrowthRecord>& records() const { return records_; }
  std::size_t num_records() const { return num_records_; }  // that were taken in, also of other kinds
  std::size_t damaged() const { return damaged_; }          // of these, those that are not valid
  const std::vector<std::size_t>& damaged_records() const {
    return damaged_records_;
  }  // the first kMostDamaged of them
  std::size_t discarded() const { return discarded_; }  // records after the point from which the run was resumed
  std::size_t left_out() const { return left_out_; }    // beyond the limits above

  struct State {
    leyline::Topology topology;
    bool starts_known = false;    // a record had the whole topology; else only slots with an event are known
    std::string doubt;            // why the topology may not be the run's here; empty: there is no doubt
    std::vector<GrowthGap> gaps;  // so far
  };
  // Rebuilds record by record up to `until` (all of them without one), and shows the state after each.
  using Visit = std::function<void(const GrowthRecord&, const State&)>;
  State replay(std::optional<RunPlace> until = {}, const Visit& visit = {}) const;

  // The last place at this step or before it; none if nothing is known of so early a step.
  std::optional<RunPlace> place_at(std::int64_t step) const;

  // Puts the records of the run that this one was forked from before its own, up to `until`. Where both together are
  // beyond the limits above, all that the parent was read from counted, nothing is put there, and this returns false.
  bool begin_with(const GrowthHistory& parent, RunPlace until);

 private:
  bool repeats_what_is_known(const GrowthRecord& segment);

  std::vector<GrowthRecord> records_;
  std::vector<std::size_t> damaged_records_;
  std::size_t num_records_ = 0, damaged_ = 0, discarded_ = 0, left_out_ = 0, bytes_ = 0;
};

// Takes the seeds that a fork's record leaves out from the topology that its parent had there. Their slots are then as
// the record's snapshot has them: DORMANT, or TERMINATED where nothing is to grow; DORMANT where it has a module, or
// not of the slot.
void leave_out(leyline::Topology& topology, const GrowthRecord& forked);

// Does the journal rebuild what a checkpoint of this place holds?
struct Agreement {
  enum class Kind {
    kAgrees,
    kUnknown,  // the journal does not show it: it is of an older version, or lacks records
    kDiffers,
  } kind = Kind::kUnknown;
  std::string text;  // kUnknown: why; kDiffers: what, slot by slot, journal -> checkpoint
};
Agreement compare(const GrowthHistory& history, RunPlace place, const leyline::Topology& held);

}  // namespace esper::history
