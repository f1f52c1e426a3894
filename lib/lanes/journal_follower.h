#pragma once
// Gives the steps of a resumed run the bits that they had before, from the records of its journal. Training thread.

#include <optional>
#include <span>
#include <string>

#include "lanes/journal_programs.h"
#include "lanes/shape/bits_journal.h"
#include "lanes/shape/shape_machine.h"

namespace esper::lanes {

class JournalFollower {
 public:
  // The references must outlive the follower.
  JournalFollower(const LaneContext& context, LaneFailures& failures, BitsJournal& journal, ShapeMachine& machine,
                  LaneExecutor& executor, JournalPrograms& programs)
      : context_(context),
        failures_(failures),
        journal_(journal),
        machine_(machine),
        executor_(executor),
        programs_(programs) {}

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

  std::optional<Outcome> take_program(StepShape& shape, const std::string& key, Batch microbatches);
  bool leaves_to_comparison(StepShape& shape, const LaneRecord& record, std::int64_t number);
  void finish(StepShape& shape, const LaneRecord& record, std::int64_t number);
  bool resume_progress(StepShape& shape, const LaneProgress& progress, Batch microbatches);
  void end(StepShape& shape);

  const LaneContext& context_;
  LaneFailures& failures_;
  BitsJournal& journal_;
  ShapeMachine& machine_;
  LaneExecutor& executor_;
  JournalPrograms& programs_;
};

}  // namespace esper::lanes
