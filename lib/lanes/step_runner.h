#pragma once
// Runs training steps in the lane that suits them, and prepares faster lanes beside them. Training thread.
//
// A shape of step (the network's structure and the microbatches' sizes) starts in eager. After the warm-up a step is
// recorded as it runs, and lanes made from the recording are tried: a lane runs the run's steps only after one step
// from copied state agreed with eager's, and is adopted only if it was faster over three times twenty steps of each.
// The states are in shape/shape_state.h; docs/lanes.md describes them in full.

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lanes/candidate_search.h"
#include "lanes/journal_follower.h"
#include "lanes/runner_context.h"
#include "lanes/shape/bits_journal.h"
#include "lanes/structure_changes.h"

namespace esper::lanes {

// Throws Error{kConfig} if the selected lane is not available on the device.
void check_lane(const config::StepConfig& config, torch::Device device, std::span<const LaneKind> kinds = lane_kinds());

class StepRunner {
 public:
  // Borrows the model. Throws as check_lane().
  StepRunner(step::Model& model, const config::StepConfig& config, torch::Device device, RunnerServices services);
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  // False if a signal came while the step waited for the program that the journal names: no step was run.
  bool step(std::span<const step::Microbatch> microbatches, StepPlace place);

  // While it lives, steps leave no record in the run's journal: for steps that are run again from an earlier state only
  // to look at them. A record of theirs would replace those of the run's later steps.
  [[nodiscard]] BitsJournal::Pause unrecorded() { return BitsJournal::Pause(journal_); }

  // Steps of the run, ascending, that were not finite when a compiled program ran them. In each of them, or in the next
  // one of a shape, what the shape runs in is compared with eager, and until then no other lane is tried. Call it
  // before the first step, or before rolled_back().
  void compare_at(std::vector<std::int64_t> steps) { machine_.checks().compare_at(std::move(steps)); }
  // After a step that was not finite the model's state became an earlier one's again, and the run goes on from there.
  // `number`: of the next step.
  void rolled_back(std::int64_t number);

  // Between two steps: what is done about changes of the network's structure.
  StructureChanges& structure_changes() { return changes_; }

  // Of the last step: equal for steps whose lanes compute the same bits.
  std::uint64_t bits() const { return executor_.tally().bits; }
  // Of the last step: a compiled program ran it, and its result was kept.
  bool ran_compiled() const { return !executor_.tally().key.empty(); }
  // The same of some step since record_epoch().
  bool epoch_ran_compiled() const { return executor_.tally().epoch_compiled_steps > 0; }

  // Of an error that came between two steps: the one to end the run with, which says how it goes on, if CUDA reports
  // such an error late and a compiled program ran since record_epoch(). Else nothing.
  std::optional<base::Error> late_failure(const std::exception& error) { return executor_.late_failure(error); }

  // True if nothing is left to try or to wait for, for the shapes seen so far.
  bool settled() const;

  const LaneFigures& figures() const { return run_.figures; }
  // At the end of an epoch: counts it if all of its steps ran compiled.
  void record_epoch();

 private:
  using Batch = std::span<const step::Microbatch>;

  StepShape& shape_of(Batch microbatches, StepPlace place);
  void record_bits(StepShape& shape, const StepOutcome& outcome, std::int64_t number);
  void seek_candidate(StepShape& shape, Batch microbatches, StepPlace place);

  RunnerContext run_;
  LaneExecutor executor_;
  BitsJournal journal_;
  ShapeMachine machine_;
  ShapeSet shapes_;  // of the network's present structure
  CandidateSearch search_;
  JournalPrograms programs_;
  JournalFollower follower_;
  StructureChanges changes_;
};

}  // namespace esper::lanes
