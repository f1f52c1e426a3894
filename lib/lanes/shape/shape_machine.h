#pragma once
// Runs the steps of a shape according to its state and moves it from state to state. It receives candidates and returns
// outcomes. The same code runs the run's model and scratch models. Training thread.

#include <optional>
#include <span>
#include <string>

#include "lanes/shape/check_schedule.h"
#include "lanes/shape/lane_executor.h"
#include "lanes/shape/step_comparison.h"
#include "lanes/shape/step_shape.h"

namespace esper::lanes {

// The position of a step in the run.
struct StepPlace {
  std::int64_t number = 0;  // RunProgress::step before it
  std::int64_t left = 0;    // remaining steps of its shape, if the run is not stopped
};

// The outcome of a step.
struct StepOutcome {
  StateId from = StateId::kSettled;            // the state that it ran in
  std::optional<ShapeEvent> event{};           // empty: the state is unchanged
  std::string reason{};                        // kStaysEager: the reason
  config::Lane lane = config::Lane::kEager;    // kAdopted, kRejected: of the candidate, or of the former incumbent
  std::string key{};                           // of its compiled program, or empty
  Rejection rejection{};                       // kRejected
  config::Lane former = config::Lane::kEager;  // kAdopted: the incumbent until then
  std::optional<double> speedup{};             // after a trial: over the incumbent
  double candidate_us = 0;                     // after a trial: the candidate's median step time
  std::optional<double> incumbent_us{};        // an incumbent's step time, if LaneSearch::undecided
};

class ShapeMachine {
 public:
  enum class Adoption {
    kOnAgreement,  // of the selected lane
    kWhenFaster,   // after a trial
  };

  // The references must outlive the machine.
  ShapeMachine(const LaneContext& context, LaneExecutor& executor, Adoption adoption)
      : context_(context), executor_(executor), adoption_(adoption), checks_(context.config) {}

  // Starts a new shape.
  void begin(StepShape& shape) const;
  // Makes `candidate` the lane under test of a shape that is searching.
  void challenge(StepShape& shape, Lane candidate) const;
  // Runs one training step.
  StepOutcome step(StepShape& shape, std::span<const step::Microbatch> microbatches, StepPlace place);

  // When incumbents are compared with eager again: StepShape::next_check is set by it.
  CheckSchedule& checks() { return checks_; }
  const CheckSchedule& checks() const { return checks_; }
  // The run is back before step `number`. A lane under test is withheld, to be tested from the beginning.
  void rolled_back(StepShape& shape, std::int64_t number) const;

 private:
  using Batch = std::span<const step::Microbatch>;

  StepOutcome warm_up(StepShape& shape, Batch microbatches);
  StepOutcome record(StepShape& shape, Batch microbatches);
  StepOutcome run(StepShape& shape, Batch microbatches, StepPlace place);
  CheckResult compare(Lane& lane, int& near_misses, Batch microbatches);
  StepOutcome check(StepShape& shape, Batch microbatches, StepPlace place);
  StepOutcome recheck(StepShape& shape, Batch microbatches, StepPlace place);
  StepOutcome try_out(StepShape& shape, Batch microbatches);

  const LaneContext& context_;
  LaneExecutor& executor_;
  Adoption adoption_;
  CheckSchedule checks_;
};

}  // namespace esper::lanes
