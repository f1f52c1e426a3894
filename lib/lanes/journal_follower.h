#pragma once
// Gives the steps of a resumed run the bits that they had before, from the records of its journal. Training thread.

#include <optional>
#include <span>
#include <string>

#include "lanes/shape/bits_journal.h"
#include "lanes/shape/compile_queue.h"
#include "lanes/shape/shape_groups.h"
#include "lanes/shape/shape_machine.h"

namespace esper::lanes {

class JournalFollower {
 public:
  // The references must outlive the follower.
  JournalFollower(const LaneContext& context, ShapeSet& shapes, LaneFailures& failures, CompileQueue& queue,
                  BitsJournal& journal, ShapeMachine& machine, LaneExecutor& executor)
      : context_(context),
        failures_(failures),
        queue_(queue),
        journal_(journal),
        machine_(machine),
        executor_(executor),
        groups_(context, shapes) {}

  enum class Outcome {
    kRan,
    kCannotRepeat,  // no step was run, and the shape begins as a new one; it was reported
    kGoesOn,        // no step was run: it is the one after the journal's last record, in a state other than Following
    kInterrupted,   // a signal stops the run: no step was run
  };
  // Runs the step of a shape in state Following as the journal records it; ends that state after the last record, or in
  // the step after it where that says how near the shape is to a compiled program. A compiled program that this record
  // has on trial runs for a whole turn, and is then a candidate as before its trial.
  Outcome step(StepShape& shape, std::span<const step::Microbatch> microbatches, std::int64_t number);

 private:
  using Batch = std::span<const step::Microbatch>;

  base::Expected<Lane> lane_of(StepShape& shape, const std::string& key, Batch microbatches);
  base::Expected<void> record_program(StepShape& shape, Batch microbatches) const;
  std::optional<Outcome> take_program(StepShape& shape, const std::string& key, Batch microbatches);
  bool leaves_to_comparison(StepShape& shape, const LaneRecord& record, std::int64_t number);
  void finish(StepShape& shape, const LaneRecord& record, std::int64_t number);
  bool resume_progress(StepShape& shape, const LaneProgress& progress, Batch microbatches);
  void compile_again(StepShape& shape, const std::string& key, Batch microbatches);
  void end(StepShape& shape);

  const LaneContext& context_;
  LaneFailures& failures_;
  CompileQueue& queue_;
  BitsJournal& journal_;
  ShapeMachine& machine_;
  LaneExecutor& executor_;
  ShapeGroups groups_;
};

}  // namespace esper::lanes
