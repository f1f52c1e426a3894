#pragma once
// step.compile.dynamic: shapes that differ in the batch size alone share one compiled program. Training thread.

#include <span>
#include <string>

#include "lanes/shape/lane_context.h"
#include "lanes/shape/shape_set.h"

namespace esper::lanes {

class ShapeGroups {
 public:
  // Both outlive it.
  ShapeGroups(const LaneContext& context, ShapeSet& shapes) : context_(context), shapes_(shapes) {}

  // Puts the shape, whose step is recorded, into the group whose program its own is an instance of, to the last number;
  // or begins one with it. Where there is no program for all batch sizes the shape stays alone, and that is reported.
  void join(StepShape& shape, std::span<const step::Microbatch> microbatches);
  // No program for all sizes can be had: each shape asks for its own from now on.
  void dissolve(const ShapeGroup& group, const std::string& reason);
  // What is wrong at one size is trusted at none: no shape of the group runs or tries this program any more.
  void withdraw(const StepShape& shape, const std::string& key);
  // The leader has settled: what it runs is there for the members to try.
  void offer_to_members(const StepShape& leader);

 private:
  void found(StepShape& shape, std::span<const step::Microbatch> microbatches, std::int64_t n);
  void report_not_dynamic(const std::string& reason) const;

  const LaneContext& context_;
  ShapeSet& shapes_;
};

}  // namespace esper::lanes
