#pragma once
// Runs the steps of a shape as its state asks for, and leads it from state to state. What candidates there are it is
// told; what came of them it returns. The run's model and scratch models go the same way. Training thread.

#include <optional>
#include <span>
#include <string>

#include "lanes/shape/lane_failures.h"
#include "lanes/shape/step_shape.h"
#include "lanes/shape/step_tally.h"

namespace esper::lanes {

// Where in the run a step stands.
struct StepPlace {
  std::int64_t number = 0;  // as RunProgress::step before it
  std::int64_t left = 0;    // how many more of its shape the run has, if nothing stops it
};

// What a step led to.
struct StepOutcome {
  StateId from = StateId::kSettled;            // the state that it ran in
  std::optional<ShapeEvent> event{};           // empty: the shape is in that state still
  std::string reason{};                        // kStaysEager: why
  config::Lane lane = config::Lane::kEager;    // kAdopted, kRejected: of the candidate, or the incumbent that was
  std::string key{};                           // of its compiled program, or empty
  Rejection rejection{};                       // kRejected
  config::Lane former = config::Lane::kEager;  // kAdopted: the incumbent until then
  std::optional<double> speedup{};             // after a trial: over the incumbent
  double candidate_us = 0;                     // after a trial: the candidate's median step
  std::optional<double> incumbent_us{};        // what a step of the incumbent takes, where LaneSearch::undecided
};

class ShapeMachine {
 public:
  enum class Adoption {
    kOnAgreement,  // of the lane that was asked for
    kWhenFaster,   // after a trial
  };

  // All of it outlives the machine.
  ShapeMachine(const LaneContext& context, LaneFailures& failures, StepTally& tally, Adoption adoption)
      : context_(context), failures_(failures), tally_(tally), adoption_(adoption) {}

  // A shape of which nothing is known begins.
  void begin(StepShape& shape) const;
  // The shape, which is searching, is to try this lane next.
  void challenge(StepShape& shape, Lane candidate) const;
  // One training step.
  StepOutcome step(StepShape& shape, std::span<const step::Microbatch> microbatches, StepPlace place);

  void run_eager(std::span<const step::Microbatch> microbatches);
  void run_in(const Lane& lane, std::span<const step::Microbatch> microbatches);
  void run_incumbent(StepShape& shape, std::span<const step::Microbatch> microbatches);
  // The incumbent agrees with eager up to here, or begins here.
  void check_again_after(StepShape& shape, std::int64_t number) const;

 private:
  using Batch = std::span<const step::Microbatch>;

  StepOutcome warm_up(StepShape& shape, Batch microbatches);
  StepOutcome record(StepShape& shape, Batch microbatches);
  StepOutcome run(StepShape& shape, Batch microbatches, StepPlace place);
  StepOutcome check(StepShape& shape, Batch microbatches, StepPlace place);
  StepOutcome recheck(StepShape& shape, Batch microbatches, StepPlace place);
  StepOutcome try_out(StepShape& shape, Batch microbatches);
  StepOutcome settle_trial(StepShape& shape);
  StepOutcome adopt(StepShape& shape, Lane candidate);

  const LaneContext& context_;
  LaneFailures& failures_;
  StepTally& tally_;
  Adoption adoption_;
};

}  // namespace esper::lanes
