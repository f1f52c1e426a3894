#pragma once
// The rows of the catalogue, one file for each kind of feature, and what the files share.

#include <cstdint>
#include <string>
#include <vector>

#include "kasmina/blueprint.h"
#include "kasmina/layers.h"

namespace esper::kasmina {

std::vector<Blueprint> feature_blueprints();
std::vector<Blueprint> image_blueprints();
std::vector<Blueprint> sequence_blueprints();

// Positions in the policy's blueprint head. One name has one position, whatever it is grown at.
namespace policy_index {
inline constexpr int kNoop = 0;
inline constexpr int kConvLight = 1;
inline constexpr int kAttention = 2;
inline constexpr int kNorm = 3;
inline constexpr int kDepthwise = 4;
inline constexpr int kBottleneck = 5;
inline constexpr int kConvSmall = 6;
inline constexpr int kConvHeavy = 7;
inline constexpr int kLora = 8;
inline constexpr int kLoraLarge = 9;
inline constexpr int kMlpSmall = 10;
inline constexpr int kMlp = 11;
inline constexpr int kFlexAttention = 12;
inline constexpr int kLinear = 13;
inline constexpr int kPointwise = 14;
}  // namespace policy_index

// The row that changes nothing: what the policy chooses to grow nothing of use, and a control in experiments.
Blueprint noop_blueprint(FeatureKind kind);

// x + up(down(x)) over the last dimension, no biases, up starts at zero. Hu et al. 2021, "LoRA".
inline constexpr std::int64_t kLoraRank = 8;
inline constexpr std::int64_t kLoraLargeRank = 32;
SeedForward build_lora(ModuleScope scope, std::int64_t channels, std::int64_t rank);
std::string lora_refusal(std::int64_t channels, std::int64_t rank);

// x + linear(x) over the last dimension, weight and bias start at zero.
SeedForward build_linear(ModuleScope scope, std::int64_t channels);

// x + tanh(scale) * (LayerNorm(x) - x); scale starts at zero.
SeedForward build_layer_norm_mix(ModuleScope scope, std::int64_t channels);
std::string layer_norm_refusal(const FeatureShape& shape);

// sigmoid(up(ReLU(down(x)))) for x [B, C]: a factor for each channel. The last bias starts at 3 and the last weight at
// zero, so every factor starts at sigmoid(3) = 0.953. Hu, Shen and Sun 2018, "Squeeze-and-excitation networks".
struct ChannelGate {
  Linear down, up;
  torch::Tensor operator()(const torch::Tensor& x) const;
};
ChannelGate make_channel_gate(ModuleScope scope, std::int64_t channels);
std::int64_t channel_gate_width(std::int64_t channels);  // R
std::int64_t channel_gate_parameters(const FeatureShape& shape);

std::string never_refused(const FeatureShape& shape);

}  // namespace esper::kasmina
