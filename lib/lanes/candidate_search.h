#pragma once
// Selects the lane that a shape tries next: from cached packages, lanes that need no compiler, and programs that are
// compiled meanwhile. Training thread.

#include <optional>
#include <span>

#include "lanes/shape/compile_queue.h"
#include "lanes/shape/lane_failures.h"
#include "lanes/shape/package_loading.h"
#include "lanes/shape/shape_groups.h"
#include "lanes/shape/shape_machine.h"

namespace esper::lanes {

class CandidateSearch {
 public:
  // The references must outlive the search.
  CandidateSearch(const LaneContext& context, ShapeSet& shapes, LaneFailures& failures, CompileQueue& queue)
      : context_(context), shapes_(shapes), failures_(failures), queue_(queue), groups_(context, shapes) {}

  // The next lane to try for a shape that is searching; empty if there is none now. In lane compiled this call waits
  // for the program.
  std::optional<Lane> next(StepShape& shape, std::span<const step::Microbatch> microbatches);
  // Records the outcome of a step. A shape with no lane left to try becomes settled here.
  void learn(StepShape& shape, const StepOutcome& outcome, StepPlace place);

 private:
  using Batch = std::span<const step::Microbatch>;

  std::optional<Lane> uncompiled(const StepShape& shape, Batch microbatches);
  std::optional<Lane> begin(StepShape& shape, Batch microbatches);
  std::optional<Lane> wait_for_compiled(StepShape& shape, Batch microbatches);
  std::optional<Lane> poll(StepShape& shape, Batch microbatches);
  std::optional<Lane> take_compiled(StepShape& shape, const std::optional<program::CompileOutcome>& outcome,
                                    Batch microbatches);
  std::optional<Lane> take_shared(StepShape& shape, Batch microbatches);
  std::optional<Lane> load(StepShape& shape, const Variant& variant, Batch microbatches, Absence absence);
  void learn_rejection(StepShape& shape, const StepOutcome& outcome);

  const LaneContext& context_;
  ShapeSet& shapes_;
  LaneFailures& failures_;
  CompileQueue& queue_;
  ShapeGroups groups_;
};

}  // namespace esper::lanes
