#pragma once
// Loads a compiled lane from the cache. Training thread.

#include <span>
#include <string>

#include "lanes/shape/lane_context.h"
#include "lanes/shape/lane_failures.h"

namespace esper::lanes {

struct CachedLane {
  Lane lane;
  program::CompileEffort effort;
};

// What it means that a package is not in the cache.
enum class Absence {
  kOrdinary,  // it may never have been compiled
  kLoss,      // it was there: reported
};

// Loads the package of that key, compiled from `program`, for these microbatches, and reports a hit. Fails with
// kUnavailable if it is not in the cache. Every other failure is reported, and a package that does not load,
// other than for what the machine lacks, is quarantined.
base::Expected<CachedLane, LaneFailure> load_cached(const LaneContext& context, LaneFailures& failures,
                                                    const program::SymbolicProgram& program, const std::string& key,
                                                    std::span<const step::Microbatch> example, Absence absence);

}  // namespace esper::lanes
