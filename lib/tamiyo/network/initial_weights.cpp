#include "tamiyo/network/initial_weights.h"

#include <ATen/Functions.h>

#include <cmath>

#include "tamiyo/network/tensor_names.h"
#include "tamiyo/network/uniform_tensor.h"

namespace esper::tamiyo {
namespace {

// Of encoders and attention: norms are ones, biases zeros, the rest Xavier's uniform, which Glorot's is too.
at::Tensor glorot_tensor(const TensorSpec& spec, std::uint64_t seed) {
  if (spec.name.ends_with(".2.weight")) return at::ones(spec.shape, at::kFloat);
  if (spec.name.ends_with("bias")) return at::zeros(spec.shape, at::kFloat);
  const auto sides = static_cast<double>(spec.shape.back() + spec.shape[spec.shape.size() - 2]);
  return uniform_tensor(seed, spec.name, spec.shape, static_cast<float>(std::sqrt(6 / sides)));
}

at::Tensor policy_head_tensor(const TensorSpec& spec) {
  if (spec.name.ends_with(".weight")) return at::zeros(spec.shape, at::kFloat);
  at::Tensor bias = at::full(spec.shape, -0.5, at::kFloat);
  bias.mutable_data_ptr<float>()[0] = 0.5F;
  return bias;
}

bool is_glorot(const std::string& name) {
  return name.starts_with("encoders.") || name.starts_with("convs.2.") || name.starts_with("convs.3.");
}

}  // namespace

Weights initial_weights(std::uint64_t seed) {
  Weights weights;
  double inputs = 1;  // a linear layer's weight comes before its bias, which has its bound
  for (const TensorSpec& spec : network_tensors()) {
    if (is_glorot(spec.name)) {
      weights[spec.name] = glorot_tensor(spec, seed);
    } else if (spec.name.starts_with("policy_logits.")) {
      weights[spec.name] = policy_head_tensor(spec);
    } else {
      if (spec.shape.size() == 2) inputs = static_cast<double>(spec.shape.back());
      weights[spec.name] = uniform_tensor(seed, spec.name, spec.shape, static_cast<float>(1 / std::sqrt(inputs)));
    }
  }
  return weights;
}

}  // namespace esper::tamiyo
