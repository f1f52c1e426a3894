#pragma once
// Which bits the steps of each shape have: repeated from the records of a resumed run, and recorded when they change.
// Training thread.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lanes/shape/lane_log.h"
#include "lanes/shape/step_shape.h"
#include "lanes/shape/step_tally.h"

namespace esper::lanes {

class BitsJournal {
 public:
  // log: the records so far of a resumed run. append_record: appends a record to the run's journal; null: nothing is
  // recorded.
  BitsJournal(LaneLog log, std::function<void(std::string)> append_record)
      : log_(std::move(log)), append_record_(std::move(append_record)) {}

  // True if nothing was recorded and nothing is left to repeat.
  bool empty() const { return log_.empty() && bits_.empty(); }
  // True if records of the resumed run are left to repeat for this shape.
  bool has(const StepShape& shape) const { return log_.has(shape.name); }
  // True if records of the resumed run are left to repeat for this shape at this step or later.
  bool follows(const StepShape& shape, std::int64_t number) const {
    return log_.at(shape.name, number) || log_.goes_on_after(shape.name, number);
  }
  // The record that applies to this step; none: eager's bits.
  std::optional<LaneRecord> at(const StepShape& shape, std::int64_t number) const {
    return log_.at(shape.name, number);
  }
  // True if the last record of the shape has been repeated, or none can be.
  bool is_done(const StepShape& shape, std::int64_t number) const { return !log_.goes_on_after(shape.name, number); }
  void forget(const StepShape& shape) { log_.forget(shape.name); }
  // The same where a record cannot be repeated: the shape's next step is recorded, whatever its bits, so that no later
  // process repeats what this one did not.
  void give_up(StepShape& shape);

  // Restores what the journal records for a new shape, in which an earlier structure's trial is not followed. Returns
  // the step from which on it has its bits: of the record if that names a compiled program, else `number`.
  std::int64_t restore(StepShape& shape, std::int64_t number);

  // The run went back to an earlier step: what was recorded of later ones holds no more, so the next step of each shape
  // is recorded again. Call it with StepShape::recorded reset.
  void rolled_back();

  // After a step. A compiled program that is not the incumbent is on trial. progress: of a step in eager, recorded
  // where it changed. Returns true if the shape's bits are a compiled program's from this step on, or the one that had
  // them was adopted in it.
  bool record(StepShape& shape, const StepTally& ran, std::int64_t number, LaneProgress progress = {});
  // The same after a step in which the incumbent, a compiled program, was compared with eager, which ran it: it has the
  // shape's next step, or with kComparing is compared in it again. A run that is killed before that step is resumed
  // with the incumbent.
  void record_comparison(StepShape& shape, const StepTally& ran, std::int64_t number, LaneProgress progress = {});
  // While it lives record() and record_comparison() do nothing: steps are run that the run does not go on from. What
  // they were is not known to the journal, and the run's next step is compared with its last one before them.
  class Pause {
   public:
    explicit Pause(BitsJournal& journal) : journal_(journal) { journal_.paused_ = true; }
    ~Pause() { journal_.paused_ = false; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    BitsJournal& journal_;
  };
  // After a step that repeats the journal. Writes no record: a new one would drop those of later steps, which are still
  // needed if the run is killed again. Returns true if the bits changed, or the program that has them was adopted.
  bool repeat(StepShape& shape, const StepTally& ran, std::int64_t number);

  // The network has another structure from this step on: of shapes without a record from there on nothing is left to
  // repeat. Returns true if one of them would have run a compiled program that was adopted.
  bool end_structure(std::int64_t number);
  // Before the first step in another structure. The records that are left to repeat have it for their shapes. bits_of
  // maps a shape and the key that its steps had to the key that they will have.
  using BitsOf = std::function<std::string(const std::string& shape, const std::string& key)>;
  void record_all(std::int64_t number, const BitsOf& bits_of);

 private:
  struct LastBits {
    std::string key;  // of the compiled program that ran last, or empty
    bool on_trial = false;
    LaneProgress progress{};
    bool is_recorded = true;
  };

  void append(const std::string& shape, const LaneRecord& record);
  bool changed(StepShape& shape, const StepTally& ran, bool on_trial);

  LaneLog log_;
  std::function<void(std::string)> append_record_;
  std::map<std::string, LastBits> bits_;  // by shape
  bool paused_ = false;
};

}  // namespace esper::lanes
