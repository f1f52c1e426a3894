#pragma once
// Follows the changes of the network's structure: prepares the steps of structures that may come, installs what is
// known of a new one between two steps, and measures what that cost. docs/lanes.md, "Growth". Training thread.

#include <cstdint>
#include <span>
#include <string>

#include "lanes/runner_context.h"
#include "lanes/structure_swap.h"
#include "lanes/swap_watch.h"

namespace esper::lanes {

class StructureChanges {
 public:
  // The references must outlive it.
  StructureChanges(RunnerContext& run, ShapeSet& shapes, const ShapeMachine& machine, BitsJournal& journal)
      : context_(run.context),
        shapes_(shapes),
        queue_(run.queue),
        machine_(machine),
        journal_(journal),
        preparer_(run.context, run.failures, run.queue,
                  {run.services.scratch_model, run.services.growth, run.services.memory}),
        watch_(run.context),
        version_(run.context.model.network.structure_version()) {}
  StructureChanges(const StructureChanges&) = delete;
  StructureChanges& operator=(const StructureChanges&) = delete;

  // Before a new shape of the network's structure: forgets the shapes of another one.
  void begin_structure();
  // Between two steps, after the network may have changed. `number`: of the next step. If the new structure is known,
  // its lanes are installed here, so that its first step runs as fast as later ones.
  void take_structure(std::int64_t number);
  // Between two steps: a limited amount of work on the likeliest structure that is not ready. The run's state is
  // unchanged. steps_left: of the run.
  void prepare(std::span<const LikelyChange> likely, std::int64_t steps_left);

  // Structures are prepared for this shape, which the run has. left: remaining steps of the shape.
  void keep_example(const StepShape& shape, std::span<const step::Microbatch> microbatches, std::int64_t left);
  // Microbatches of which a resumed run may have no step before the network changes: where its journal knows the shape,
  // its lanes are prepared as those of other shapes.
  void keep_example(std::span<const step::Microbatch> microbatches, std::int64_t left);

  // While it is on, the first steps after a change are to be timed for it.
  SwapWatch& watch() { return watch_; }

 private:
  bool install(const KnownStructure& known, config::Lane kind, std::int64_t number);
  void record_swapped(std::int64_t number);

  const LaneContext& context_;
  ShapeSet& shapes_;  // of the network's present structure
  CompileQueue& queue_;
  const ShapeMachine& machine_;
  BitsJournal& journal_;
  StructurePreparer preparer_;
  SwapWatch watch_;
  std::uint64_t version_;  // of the network's structure, when it was looked at last
  std::string structure_;  // structure_of() the network of shapes_
};

}  // namespace esper::lanes
