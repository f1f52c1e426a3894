#pragma once
// The compiled programs that a resumed run's journal names: from the cache, or compiled again. Training thread.

#include <span>
#include <string>

#include "base/expected.h"
#include "lanes/shape/compile_queue.h"
#include "lanes/shape/lane_failures.h"
#include "lanes/shape/shape_groups.h"

namespace esper::lanes {

class JournalPrograms {
 public:
  // The references must outlive it.
  JournalPrograms(const LaneContext& context, ShapeSet& shapes, LaneFailures& failures, CompileQueue& queue)
      : context_(context), failures_(failures), queue_(queue), groups_(context, shapes) {}

  // Records the shape's step, if it has no program yet.
  base::Expected<void> record(StepShape& shape, std::span<const step::Microbatch> microbatches) const;
  // The compiled program of that key, or why the shape cannot have it. A signal ends the wait for a compiler.
  base::Expected<Lane> lane_of(StepShape& shape, const std::string& key,
                               std::span<const step::Microbatch> microbatches);

 private:
  using Batch = std::span<const step::Microbatch>;

  base::Expected<program::CachedPackage> package_of(StepShape& shape, const std::string& key, Batch microbatches);
  void compile_again(StepShape& shape, const std::string& key, Batch microbatches);

  const LaneContext& context_;
  LaneFailures& failures_;
  CompileQueue& queue_;
  ShapeGroups groups_;
};

}  // namespace esper::lanes
