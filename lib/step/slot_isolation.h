#pragma once
// How isolated each growing seed is from the host: the gradients past the seed and through it, at its slot, over one
// step's microbatches. Tensor code inside the step. Training thread.

#include <torch/types.h>

#include <span>
#include <vector>

#include "kasmina/seed/slot_tap.h"
#include "step/step_state.h"
#include "step/train_step.h"

namespace esper::step {

class SlotIsolation {
 public:
  // The paths past the seed and into it.
  static constexpr std::size_t kPaths = 2;
  // What to take the gradient at besides the parameters: kPaths tensors for each tap.
  static std::vector<torch::Tensor> tapped(const kasmina::SlotTaps& taps);

  // The gradients there, of the next microbatch or part; undefined where nothing comes back.
  void take_in(const kasmina::SlotTaps& taps, std::span<const torch::Tensor> gradients, const Microbatch& microbatch);

  // After the last microbatch: adds the step's figures to state.seed_sums. There are growing seeds. max_cosine: above
  // it a seed whose gate is closed is not isolated.
  void finish(StepState& state, double max_cosine) const;

 private:
  std::vector<torch::Tensor> inner_products_;  // host with seed, host, seed; of each seed of each microbatch so far
  std::vector<torch::Tensor> gates_;           // of each seed
};

}  // namespace esper::step
