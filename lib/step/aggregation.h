#pragma once
// How the gradients of a step's microbatches become one gradient, and what that shows of each growing seed. All of it
// is tensor code inside the step. A microbatch that is computed in parts is one: their sum. Training thread.
//
// With microbatch gradients g_i and attribution a_is (rows sum to one), seed s answers for the vector
// v_s = sum over i of a_is g_i on the elements that the host owns, so the v_s add up to the plain sum. On the elements
// that a seed owns it is the plain sum. Where two seeds or more and two microbatches or more meet, and the attribution
// distinguishes them, gradient surgery removes from each v_s its conflicting components; the host then gets
// sum over s of w_s v_s = sum over i of (sum over s of a_is w_s) g_i, w the column sums of Surgery::coefficients.

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kasmina/seed/slot_tap.h"
#include "step/microbatch_surgery.h"
#include "step/slot_isolation.h"
#include "step/step_settings.h"
#include "step/step_state.h"
#include "step/train_step.h"

namespace esper::step {

// One step's way through aggregation. Borrows the state.
class Aggregation {
 public:
  // num_microbatches: count_whole().
  Aggregation(StepState& state, const AggregationSettings& settings, std::int64_t num_microbatches);

  // Does the forward have to show its slots?
  bool wants_taps() const;
  // What to take the gradient at besides the parameters.
  std::vector<torch::Tensor> tapped(const kasmina::SlotTaps& taps) const;
  // The next microbatch or part, and the gradients at what is tapped, in that order; undefined where nothing comes
  // back.
  void take_in(const kasmina::SlotTaps& taps, std::span<const torch::Tensor> gradients, const Microbatch& microbatch);
  // Where its flat gradient is to be written; without surgery it is the step's own, to be added to.
  enum class Write { kReplace, kAdd };
  struct Destination {
    torch::Tensor flat;  // [elements of all parameters] float32
    Write write;
  };
  Destination destination() const;
  // After the last microbatch: leaves the step's gradient in state.gradients, and the seeds' figures in their sums.
  void finish();

 private:
  StepState& state_;
  const AggregationSettings& settings_;
  std::int64_t microbatch_ = -1;                // that the last part is of
  bool is_first_part_ = true;                   // of it
  std::optional<MicrobatchSurgery> surgery_{};  // where it acts
  std::optional<SlotIsolation> isolation_{};    // where seeds grow whose figures are measured
};

}  // namespace esper::step
