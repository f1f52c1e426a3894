// Modules that more than one kind of feature can grow.

#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include <algorithm>

#include "kasmina/blueprint/families.h"

namespace esper::kasmina {

Blueprint noop_blueprint(FeatureKind kind) {
  return {.name = "noop",
          .fits = kind,
          .policy_index = policy_index::kNoop,
          .module = "x",
          .start = "neutral: it is the identity",
          .formula = "0",
          .num_parameters = [](const FeatureShape&) -> std::int64_t { return 0; },
          .flops = [](const FeatureShape&) -> std::int64_t { return 0; },
          .refusal = never_refused,
          .build = [](ModuleScope, const FeatureShape&) -> SeedForward {
            return [](const torch::Tensor& x, Mode) { return x; };
          },
          .algebra = Algebra::kAffine};
}

SeedForward build_lora(ModuleScope scope, std::int64_t channels, std::int64_t rank) {
  const Linear down = make_linear(scope.child("down"), channels, rank, {.bias = Bias::kNo});
  const Linear up = make_linear(scope.child("up"), rank, channels, {.bias = Bias::kNo, .weight_init = kZeros});
  return [down, up](const torch::Tensor& x, Mode) { return x + up(down(x)); };
}

SeedForward build_linear(ModuleScope scope, std::int64_t channels) {
  const Linear linear = make_linear(scope, channels, channels, {.weight_init = kZeros, .bias_init = kZeros});
  return [linear](const torch::Tensor& x, Mode) { return x + linear(x); };
}

std::string lora_refusal(std::int64_t channels, std::int64_t rank) {
  if (channels > rank) return "";
  return "rank " + std::to_string(rank) + " is not low for " + std::to_string(channels) + " channels";
}

SeedForward build_layer_norm_mix(ModuleScope scope, std::int64_t channels) {
  const LayerNorm norm = make_layer_norm(scope.child("norm"), channels);
  const torch::Tensor scale = scope.parameter("scale", {1}, kZeros);
  return [norm, scale](const torch::Tensor& x, Mode) { return x + at::tanh(scale) * (norm(x) - x); };
}

std::string layer_norm_refusal(const FeatureShape& shape) {
  return shape.channels > 1 ? "" : "the norm of a single channel is zero";
}

torch::Tensor ChannelGate::operator()(const torch::Tensor& x) const { return at::sigmoid(up(at::relu(down(x)))); }

ChannelGate make_channel_gate(ModuleScope scope, std::int64_t channels) {
  constexpr Init kOpen{Init::Kind::kConstant, 3.0};
  const auto width = channel_gate_width(channels);
  return {make_linear(scope.child("down"), channels, width),
          make_linear(scope.child("up"), width, channels, {.weight_init = kZeros, .bias_init = kOpen})};
}

std::int64_t channel_gate_width(std::int64_t channels) { return std::max<std::int64_t>(1, channels / 4); }

std::int64_t channel_gate_parameters(const FeatureShape& shape) {
  const auto width = channel_gate_width(shape.channels);
  return 2 * shape.channels * width + width + shape.channels;
}

std::string never_refused(const FeatureShape&) { return ""; }

}  // namespace esper::kasmina
