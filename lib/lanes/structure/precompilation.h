#pragma once
// Compiles the packages of structures that are not in use: ahead, beside the training, and at the latest when the
// structure comes, while the run waits. Training thread.

#include <cstdint>

#include "lanes/shape/compile_queue.h"
#include "lanes/structure/dry_run.h"

namespace esper::lanes {

// What a compilation ahead is weighed against.
struct StepsToCome {
  config::Lane lane = config::Lane::kEager;  // the fastest that the structure in use runs in
  const DryRun::Examples& examples;
  std::int64_t left = 0;  // of the run
};

// Starts compiling a package that a step of the structure waits for, if it pays and no other one is compiled ahead.
void precompile(const LaneContext& context, CompileQueue& queue, const KnownStructure& known, const StepsToCome& steps);

// Enters what was compiled ahead into the library; without an outcome nothing.
void take_precompiled(CompileQueue& queue, LaneFailures& failures, StructureLibrary& library);

// Waits until the packages of the run's steps are ready, the deadline has passed, or the run is to stop.
void wait_for_packages(DryRun& run, CompileQueue& queue, LaneFailures& failures, LaneFigures& figures);

}  // namespace esper::lanes
