#pragma once
// Steps to record, written with autograd as a trainer would.

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <vector>

#include "program/recorder.h"

namespace esper::tests {

// Linear(16, 4), batch 4, SGD with momentum, over flat parameters.
struct TinyStep {
  at::Tensor parameters, momentum, inputs_, targets, lr;
  at::Tensor weight, bias;

  TinyStep() {
    at::manual_seed(1);
    parameters = at::randn({68}) * 0.1;
    momentum = at::zeros({68});
    inputs_ = at::randn({4, 16});
    targets = at::randint(4, {4}, at::kLong);
    lr = at::full({}, 0.01);
    weight = parameters.narrow(0, 0, 64).view({4, 16}).detach().requires_grad_();
    bias = parameters.narrow(0, 64, 4).detach().requires_grad_();
  }

  void run() {
    const at::Tensor loss = at::cross_entropy_loss(at::linear(inputs_, weight, bias), targets);
    auto gradients = torch::autograd::grad({loss}, {weight, bias});
    const at::NoGradGuard no_grad;
    const at::Tensor flat = at::cat({gradients[0].reshape({-1}), gradients[1]});
    momentum.mul_(0.9).add_(flat);
    parameters.addcmul_(momentum, lr, -1);
  }

  std::vector<program::ExternalTensor> external_tensors() const {
    return {{"parameters", parameters}, {"momentum", momentum}, {"inputs", inputs_}, {"targets", targets}, {"lr", lr}};
  }
  std::vector<at::Tensor> inputs() const { return {parameters, momentum, inputs_, targets, lr}; }
};

// Runs the step once.
inline program::Program recording_of(TinyStep& step) {
  return program::record(step.external_tensors(), [&] { step.run(); }).value();
}

}  // namespace esper::tests
