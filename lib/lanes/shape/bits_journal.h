#pragma once
// Which bits the steps of each shape have: repeated from the notes of a resumed run, and noted when they change.
// Training thread.

#include <functional>
#include <map>
#include <string>

#include "lanes/shape/lane_log.h"
#include "lanes/shape/step_shape.h"
#include "lanes/shape/step_tally.h"

namespace esper::lanes {

class BitsJournal {
 public:
  // log: of the run so far, where it is resumed. note: takes a note for the run's journal; null: nobody does.
  BitsJournal(LaneLog log, std::function<void(std::string)> note) : log_(std::move(log)), note_(std::move(note)) {}

  // Nothing was noted, and nothing is to be repeated.
  bool empty() const { return log_.empty() && bits_.empty(); }
  // Notes of the resumed run are left to repeat: of some shape, or of this one at this step or later.
  bool follows() const { return !log_.empty(); }
  bool follows(const StepShape& shape, std::int64_t number) const {
    return log_.at(shape.name, number) != nullptr || log_.goes_on_after(shape.name, number);
  }
  // What the notes say of this step; null: eager's bits.
  const LaneRecord* at(const StepShape& shape, std::int64_t number) const { return log_.at(shape.name, number); }
  // The last note of the shape has been repeated, or none of them can be.
  bool is_done(const StepShape& shape, std::int64_t number) const { return !log_.goes_on_after(shape.name, number); }
  void forget(const StepShape& shape) { log_.forget(shape.name); }

  // What the journal has in force for a shape that came up. Returns the note of this run's past, if it is a compiled
  // program's.
  const LaneRecord* restore(StepShape& shape, std::int64_t number);

  // After a step. True where the shape's bits are a compiled program's from this step on.
  bool record(StepShape& shape, const StepTally& ran, std::int64_t number);
  // The same after a step that the journal told of: nothing is noted again. A note drops those of later steps, and a
  // run that is killed once more still needs them.
  bool repeat(StepShape& shape, const StepTally& ran);

  // Before the first step in another structure. bits_of: given a shape and the key that its steps had, the key that
  // they will have.
  using BitsOf = std::function<std::string(const std::string& shape, const std::string& key)>;
  void record_all(std::int64_t number, const BitsOf& bits_of);

 private:
  bool changed(StepShape& shape, const StepTally& ran);

  LaneLog log_;
  std::function<void(std::string)> note_;
  std::map<std::string, std::string> bits_;  // by shape: key of the compiled program that ran last, or empty
};

}  // namespace esper::lanes
