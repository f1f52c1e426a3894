#pragma once
// The builders of the catalogue's modules, one file for each kind of feature, and what these files share.

#include <cstdint>
#include <span>
#include <string_view>

#include "kasmina/blueprint/blueprint.h"
#include "kasmina/tensor/layers.h"

namespace esper::kasmina {

// Builds the module of the row of that name; null if the host's block does.
struct Builder {
  std::string_view name;
  SeedForward (*build)(ModuleScope scope, const FeatureShape& shape);
};
std::span<const Builder> feature_builders();
std::span<const Builder> image_builders();
std::span<const Builder> sequence_builders();

// x
SeedForward build_noop(ModuleScope scope, const FeatureShape& shape);

// x + up(down(x)) over the last dimension, no biases, up starts at zero. Hu et al. 2021, "LoRA".
SeedForward build_lora(ModuleScope scope, const FeatureShape& shape);
SeedForward build_large_lora(ModuleScope scope, const FeatureShape& shape);

// x + linear(x) over the last dimension, weight and bias start at zero.
SeedForward build_linear(ModuleScope scope, const FeatureShape& shape);

// x + tanh(scale) * (LayerNorm(x) - x); scale starts at zero.
SeedForward build_layer_norm_mix(ModuleScope scope, const FeatureShape& shape);

// sigmoid(up(ReLU(down(x)))) for x [B, C]: a factor for each channel. The last bias starts at 3 and the last weight at
// zero, so every factor starts at sigmoid(3) = 0.953. Hu, Shen and Sun 2018, "Squeeze-and-excitation networks".
struct ChannelGate {
  Linear down, up;
  torch::Tensor operator()(const torch::Tensor& x) const;
};
ChannelGate make_channel_gate(ModuleScope scope, std::int64_t channels);

}  // namespace esper::kasmina
