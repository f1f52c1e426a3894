#pragma once
// The training step: a pure function of a StepState and a batch. It reads nothing from the device. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <span>

#include "kasmina/seed/slot_tap.h"
#include "step/step_settings.h"
#include "step/step_state.h"

namespace esper::step {

// inputs as the network takes them; targets as step/loss.h takes them: int64 [B], [B, T] with one class per token or
// [B, H, W] with one per pixel; float32 [B, K].
struct Microbatch {
  torch::Tensor inputs, targets;
  bool goes_on = false;  // more of the microbatch before it, which did not fit into memory as a whole
};

// Those in parts count once.
std::int64_t count_whole(std::span<const Microbatch> microbatches);

// inputs to logits, [B, C], [B, T, C] or [B, C, H, W], or to values [B, K].
using Forward = std::function<torch::Tensor(const torch::Tensor& inputs)>;
// The same. taps: null, or to be filled with one tap for each growing seed.
using TrainingForward = std::function<torch::Tensor(const torch::Tensor& inputs, kasmina::SlotTaps* taps)>;

// One optimizer step on the mean loss over all targets of all microbatches, whatever their sizes (weighted by class,
// where class weights are set): forward and one backward per microbatch, a second forward and backward for each seed
// that trains in the shadow of the network, which is in no figure of the loss, aggregation over seeds
// (step/aggregation.h), unscale, global norm, clip, optimizer, averages, metric sums. With fp16 a step whose gradients
// are not finite changes nothing but the loss scale and the metrics, and of those its loss only where that is finite. A
// parameter that no forward of the step used stays as it is, with its moments, as in PyTorch. Parts of a microbatch are
// attributed to seeds together. microbatches: not empty.
void train_step(StepState& state, const StepSettings& settings, std::span<const Microbatch> microbatches,
                const TrainingForward& forward);

// Creates the constants that a step with as many targets uses; the first such step does so itself.
void create_constants(StepState& state, std::span<const Microbatch> microbatches);

}  // namespace esper::step
