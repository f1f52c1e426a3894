#pragma once
// A lane's step compared with eager's, from the same state. Training thread; reads the device.

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lanes/lane/lane.h"
#include "lanes/lane/step_external_tensors.h"
#include "lanes/shape/lane_failures.h"
#include "program/check.h"
#include "step/train_step.h"

namespace esper::lanes {

// What has to be kept to compare one step: before, after the lane, and what the model then holds. May not fit into
// memory.
class StepCopies {
 public:
  void take_before(const step::Model& model, torch::Device device);
  void take_after_lane();
  // The model as it was before, random number generators included.
  void restore() const { start_->restore(); }
  // After eager's step on the model.
  std::optional<program::Difference> difference(const step::Model& model) const;
  bool is_off_by_little(const step::Model& model) const;

 private:
  std::optional<program::Difference> difference(program::Tolerance tolerance) const;

  std::vector<program::Tracked> tracked_;
  std::optional<StepSnapshot> start_;
  std::vector<torch::Tensor> before_, after_lane_;
};

// A comparison that is off by little is made again with the next step, at most so often in a row.
inline constexpr int kMostNearMisses = 6;

// False where the last step says nothing about a lane: its gradients were not finite.
bool last_step_was_finite(const step::Model& model);

struct CheckResult {
  enum class Verdict {
    kSame,
    kRejected,
    kUndecided,  // eager's own step was not finite, or the lane is off by so little that the next step decides
  } verdict = Verdict::kSame;
  Rejection rejection{};  // kRejected
};

// Runs the step by the lane and by eager from the same state, and compares. The model goes on from eager's step,
// whatever the lane did. `eager` runs that. near_misses: in a row so far; counted. Where memory does not suffice beside
// the lane, the lane is released. Reads the device.
CheckResult compare_with_eager(const LaneContext& context, Lane& lane, int& near_misses,
                               std::span<const step::Microbatch> microbatches, const std::function<void()>& eager);

}  // namespace esper::lanes
