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

// The copies that comparing one step needs: the state before it, and the state after the lane's step. May not fit into
// memory.
class StepCopies {
 public:
  void take_before(const step::Model& model, torch::Device device);
  void take_after_lane();
  // Restores the model to its state before the step, random number generators included.
  void restore() const { start_->restore(); }
  // Called after eager's step on the model.
  std::optional<program::Difference> difference(const step::Model& model) const;
  bool is_off_by_little(const step::Model& model) const;

 private:
  std::optional<program::Difference> difference(program::Tolerance tolerance) const;

  std::vector<program::Tracked> tracked_;
  std::optional<StepSnapshot> start_;
  std::vector<torch::Tensor> before_, after_lane_;
};

// A comparison with a small difference is repeated with the next step, at most this many times in a row.
inline constexpr int kMostNearMisses = 6;

// False if the last step cannot judge a lane: its gradients were not finite.
bool last_step_was_finite(const step::Model& model);

struct CheckResult {
  enum class Verdict {
    kSame,
    kRejected,
    kUndecided,  // eager's step was not finite, or the difference is so small that the next step decides
  } verdict = Verdict::kSame;
  Rejection rejection{};  // kRejected
  bool eager_is_due =
      false;  // there was no memory for eager's step beside the lane; it has to run when the lane is gone
};

// Runs the step in the lane and in eager from the same state, and compares the results. The model always continues from
// eager's step, which `eager` runs. near_misses: consecutive small differences so far; updated. Releases the lane if
// memory runs out in eager's step, which is then due. Reads the device.
CheckResult compare_with_eager(const LaneContext& context, Lane& lane, int& near_misses,
                               std::span<const step::Microbatch> microbatches, const std::function<void()>& eager);

}  // namespace esper::lanes
