#pragma once
// A lane's step compared with eager's, from the same state. Training thread; reads the device.

#include <cstdint>
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

// What comparing one step needs: a copy of the state before it, and of the state after the lane's step either a
// checksum of each tensor, where the lane promises eager's bits and the processor can read them, or a copy. May not fit
// into memory.
class StepComparison {
 public:
  void take_before(const step::Model& model, torch::Device device);
  void take_after(const Lane& lane);
  // Restores the model to its state before the step, random number generators included.
  void restore() const { start_->restore(); }

  // Called after eager's step on the model. Of bits: the first tensor that has others.
  std::optional<program::Difference> difference(const step::Model& model) const;
  // Never so of bits.
  bool is_off_by_little(const step::Model& model) const;
  // step_sensitivity() of one tensor, by its name.
  double sensitivity(const LaneContext& context, const std::string& tensor, double change,
                     std::span<const step::Microbatch> microbatches) const;

 private:
  std::optional<program::Difference> difference_of_bits() const;
  std::optional<program::Difference> difference_of_values(program::Tolerance tolerance) const;

  std::vector<program::Tracked> tracked_;
  std::optional<StepSnapshot> start_;
  std::vector<std::uint64_t> checksums_after_lane_;  // empty if copies were taken
  std::vector<torch::Tensor> copies_after_lane_;
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
// eager's step, which `eager` runs. near_misses: consecutive small differences so far; updated. After one, where
// products of float32 are computed from shorter numbers (TF32), the step is compared in full fp32 as well, and
// agreement there outweighs a small difference. Before a program is called wrong, eager's step is compared with itself
// after a change of the parameters by a tenth of the tolerance: where it is about as far from that (a network that has
// converged, whose gradients are the rounding of sums that cancel), the lane is rejected, as sensitive. Releases the
// lane if memory runs out in eager's step, which is then due. Reads the device.
CheckResult compare_with_eager(const LaneContext& context, Lane& lane, int& near_misses,
                               std::span<const step::Microbatch> microbatches, const std::function<void()>& eager);

}  // namespace esper::lanes
