// Modules that more than one kind of feature can grow.

#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include "kasmina/blueprint/families.h"
#include "leyline/blueprint/blueprint_sizes.h"

namespace esper::kasmina {

namespace {

SeedForward build_lora_of(ModuleScope scope, std::int64_t channels, std::int64_t rank) {
  const Linear down = make_linear(scope.child("down"), channels, rank, {.bias = Bias::kNo});
  const Linear up = make_linear(scope.child("up"), rank, channels, {.bias = Bias::kNo, .weight_init = kZeros});
  return [down, up](const torch::Tensor& x, Mode) { return x + up(down(x)); };
}

}  // namespace

SeedForward build_noop(ModuleScope, const FeatureShape&) {
  return [](const torch::Tensor& x, Mode) { return x; };
}

SeedForward build_lora(ModuleScope scope, const FeatureShape& shape) {
  return build_lora_of(scope, shape.channels, leyline::kLoraRank);
}

SeedForward build_large_lora(ModuleScope scope, const FeatureShape& shape) {
  return build_lora_of(scope, shape.channels, leyline::kLoraLargeRank);
}

SeedForward build_linear(ModuleScope scope, const FeatureShape& shape) {
  const auto c = shape.channels;
  const Linear linear = make_linear(scope, c, c, {.weight_init = kZeros, .bias_init = kZeros});
  return [linear](const torch::Tensor& x, Mode) { return x + linear(x); };
}

SeedForward build_layer_norm_mix(ModuleScope scope, const FeatureShape& shape) {
  const LayerNorm norm = make_layer_norm(scope.child("norm"), shape.channels);
  const torch::Tensor scale = scope.parameter("scale", {1}, kZeros);
  return [norm, scale](const torch::Tensor& x, Mode) { return x + at::tanh(scale) * (norm(x) - x); };
}

torch::Tensor ChannelGate::operator()(const torch::Tensor& x) const { return at::sigmoid(up(at::relu(down(x)))); }

ChannelGate make_channel_gate(ModuleScope scope, std::int64_t channels) {
  constexpr Init kOpen{Init::Kind::kConstant, 3.0};
  const auto width = leyline::channel_gate_width(channels);
  return {make_linear(scope.child("down"), channels, width),
          make_linear(scope.child("up"), width, channels, {.weight_init = kZeros, .bias_init = kOpen})};
}

}  // namespace esper::kasmina
