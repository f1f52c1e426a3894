#pragma once
// Losses of outputs that are judged one by one, [N, K] with float32 targets: BCE with logits, MSE, Huber. Sums over all
// elements, as PyTorch's with reduction "sum".

#include "step/loss.h"

namespace esper::step {

// As loss_gradient(). Class weights, of BCE alone, are the factors of the columns, as PyTorch's `weight`.
torch::Tensor element_loss(const LossSettings& settings, const Prediction& prediction, const LossOptions& options,
                           const LossSum& out);
// Of each element, without class weights and gradient.
torch::Tensor element_losses(const LossSettings& settings, const Prediction& prediction);

// bool [N, K]: true where the probability of a label is on its target's side of 0.5.
torch::Tensor label_hits(const Prediction& prediction);

}  // namespace esper::step
