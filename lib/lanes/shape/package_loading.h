#pragma once
// A compiled lane from the cache. Training thread.

#include <optional>
#include <span>
#include <string>

#include "lanes/shape/lane_context.h"
#include "lanes/shape/lane_failures.h"

namespace esper::lanes {

struct CachedLane {
  Lane lane;
  program::CompileEffort effort;
};

// Loads the package of that key, made of `program`, for these microbatches; reports a hit. Empty where the cache does
// not have it, or it cannot be used: that is reported, and a damaged one is quarantined.
std::optional<CachedLane> load_cached(const LaneContext& context, LaneFailures& failures,
                                      const program::SymbolicProgram& program, const std::string& key,
                                      std::span<const step::Microbatch> example);

}  // namespace esper::lanes
