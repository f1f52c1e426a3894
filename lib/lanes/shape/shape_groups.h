#pragma once
// step.compile.dynamic: shapes that differ only in batch size share one compiled program. Training thread.

#include <span>
#include <string>

#include "lanes/shape/lane_context.h"
#include "lanes/shape/shape_set.h"

namespace esper::lanes {

class ShapeGroups {
 public:
  // Both must outlive it.
  ShapeGroups(const LaneContext& context, ShapeSet& shapes) : context_(context), shapes_(shapes) {}

  // Adds a recorded shape to the group whose symbolic program has the shape's program as an exact instance, or creates
  // a group with it. If there is no program for all batch sizes, the shape stays alone and this is reported.
  void join(StepShape& shape, std::span<const step::Microbatch> microbatches);
  // The group's symbolic program cannot be compiled: from now on each shape has its own program.
  void dissolve(const ShapeGroup& group, const std::string& reason);
  // A program that is wrong at one size is rejected at every size: no shape of the group runs or tries it again.
  void withdraw(const StepShape& shape, const std::string& key);
  // The leader has settled: the members may try its program.
  void offer_to_members(const StepShape& leader);

 private:
  void found(StepShape& shape, std::span<const step::Microbatch> microbatches, std::int64_t n);
  void report_not_dynamic(const std::string& reason) const;

  const LaneContext& context_;
  ShapeSet& shapes_;
};

}  // namespace esper::lanes
