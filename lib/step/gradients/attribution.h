#pragma once
// Which seed answers for how much of a microbatch: a row of shares over the growing seeds, in order of birth, that sums
// to one. Pure tensor functions; nothing is read by the host. Training thread.
//
//   approx      |<dL/d(output_s), change_s>| over the sum of all seeds', from the gradients of the one backward:
//               how much the loss would move, to first order, if seed s took back what it changes at its slot
//   probe       max(0, loss without seed s - loss) over the sum of all seeds', measured by one more forward for each
//   dataloader  the mean of the shares that the targets' classes were given
//   uniform     equally; so is any of the others where their sum is zero

#include <torch/types.h>

#include <span>

#include "kasmina/seed/slot_tap.h"

namespace esper::step {

// scores: [S], not negative. float32 [S].
torch::Tensor normalised_shares(const torch::Tensor& scores);

// <dL/d(output_s), change_s> of each seed, [S] float32: of a microbatch in parts the sum of the parts'.
// output_gradients: dL/d(output) for each tap; undefined where the loss does not depend on it.
torch::Tensor first_order_losses(const kasmina::SlotTaps& taps, std::span<const torch::Tensor> output_gradients);

// table: float32 [classes + 1, S]; the last row is for every class beyond. targets: int64, any shape.
torch::Tensor class_shares_of(const torch::Tensor& table, const torch::Tensor& targets);

}  // namespace esper::step
