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

// What comparing one step needs: a copy of the state before it, and of a lane that promises eager's bits a checksum of
// each tensor after its step, of another lane a copy. May not fit into memory.
class StepCopies {
 public:
  using Batch = std::span<const step::Microbatch>;

  void take_before(const step::Model& model, torch::Device device);
  // Runs the lane's step.
  void run(const Lane& lane, Batch microbatches);
  // Restores the model to its state before the step, random number generators included.
  void restore() const { start_->restore(); }

  // The following are called after eager's step on the model.
  // Whether the checksums say that there is no difference; false if there are none.
  bool has_same_bits() const;
  // Runs the lane's step once more if its values were not copied, for difference() to compare them. The model is left
  // as it was found.
  void need_values(const step::Model& model, const Lane& lane, Batch microbatches);
  std::optional<program::Difference> difference(const step::Model& model) const;
  bool is_off_by_little(const step::Model& model) const;

 private:
  std::optional<program::Difference> difference(program::Tolerance tolerance) const;

  std::vector<program::Tracked> tracked_;
  std::optional<StepSnapshot> start_;
  std::vector<std::uint64_t> bits_after_lane_;  // either these
  std::vector<torch::Tensor> after_lane_;       // or these
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
// memory runs out in eager's step, which is then due. Needs one copy of the state where the lane keeps its promise of
// eager's bits, two otherwise. Reads the device.
CheckResult compare_with_eager(const LaneContext& context, Lane& lane, int& near_misses,
                               std::span<const step::Microbatch> microbatches, const std::function<void()>& eager);

}  // namespace esper::lanes
