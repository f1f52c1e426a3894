#pragma once
// Gradient surgery over one step's microbatches, by the formulas of aggregation.h: holds the gradient of each, and what
// it is attributed to seeds by, and combines them at the end. Tensor code inside the step. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kasmina/seed/slot_tap.h"
#include "step/step_settings.h"
#include "step/step_state.h"
#include "step/train_step.h"

namespace esper::step {

class MicrobatchSurgery {
 public:
  // Whether there is something to combine: two seeds or more, two microbatches or more, and an attribution that
  // distinguishes them.
  static bool acts_on(const StepState& state, const AggregationSettings& settings, std::int64_t num_microbatches);

  // Where it acts. Borrows state and settings.
  MicrobatchSurgery(StepState& state, const AggregationSettings& settings, std::int64_t num_microbatches);

  // Whether it attributes by the gradients at the slots' outputs.
  bool wants_outputs() const { return settings_.config.attribution == config::Attribution::kApprox; }
  // The next microbatch or part. output_gradients: where they are needed, one for each tap.
  void take_in(const kasmina::SlotTaps& taps, std::span<const torch::Tensor> output_gradients,
               const Microbatch& microbatch);
  // Where a microbatch's flat gradient belongs: [elements of all parameters] float32.
  torch::Tensor row(std::int64_t microbatch) const { return rows_[microbatch]; }
  // After the last microbatch: leaves the step's gradient in state.gradients, and the seeds' figures in their sums.
  void finish();

 private:
  void take_evidence(const torch::Tensor& evidence, const Microbatch& microbatch);
  torch::Tensor attribution_of(std::int64_t microbatch) const;

  StepState& state_;
  const AggregationSettings& settings_;
  const std::int64_t num_microbatches_;
  torch::Tensor rows_;                   // [microbatches, elements of all parameters]
  std::vector<torch::Tensor> evidence_;  // what each microbatch so far is attributed by: losses or targets
};

}  // namespace esper::step
