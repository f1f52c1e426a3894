// Modules for flat features, [B, C].

#include <ATen/ops/relu.h>

#include <algorithm>

#include "kasmina/blueprint/families.h"

namespace esper::kasmina {
namespace {

std::int64_t small_width(const FeatureShape& s) { return std::max<std::int64_t>(1, s.channels / 2); }
std::int64_t wide_width(const FeatureShape& s) { return 2 * s.channels; }

SeedForward build_gate(ModuleScope scope, const FeatureShape& shape) {
  const ChannelGate gate = make_channel_gate(scope, shape.channels);
  return [gate](const torch::Tensor& x, Mode) { return x * gate(x); };
}

SeedForward build_mlp(ModuleScope scope, std::int64_t channels, std::int64_t width) {
  const Linear up = make_linear(scope.child("up"), channels, width);
  const Linear down = make_linear(scope.child("down"), width, channels, {.weight_init = kZeros, .bias_init = kZeros});
  return [up, down](const torch::Tensor& x, Mode) { return x + down(at::relu(up(x))); };
}

std::int64_t mlp_parameters(const FeatureShape& s, std::int64_t width) {
  return 2 * s.channels * width + width + s.channels;
}

Blueprint norm_row() {
  return {.name = "norm",
          .fits = FeatureKind::kFeatures,
          .policy_index = policy_index::kNorm,
          .module = "x + tanh(scale) (LayerNorm(x) - x)",
          .start = "neutral: scale is 0",
          .formula = "2C + 1",
          .num_parameters = [](const FeatureShape& s) { return 2 * s.channels + 1; },
          .flops = [](const FeatureShape& s) { return 2 * s.channels; },
          .refusal = layer_norm_refusal,
          .build = [](ModuleScope scope, const FeatureShape& s) { return build_layer_norm_mix(scope, s.channels); }};
}

Blueprint attention_row() {
  return {.name = "attention",
          .fits = FeatureKind::kFeatures,
          .policy_index = policy_index::kAttention,
          .module = "x * sigmoid(up(ReLU(down(x)))), down to R = max(1, C/4)",
          .start = "scales by sigmoid(3) = 0.953",
          .formula = "2CR + R + C",
          .num_parameters = channel_gate_parameters,
          .flops = [](const FeatureShape& s) { return 2 * s.channels * channel_gate_width(s.channels) + s.channels; },
          .refusal = never_refused,
          .build = build_gate};
}

Blueprint lora_row() {
  return {.name = "lora",
          .fits = FeatureKind::kFeatures,
          .policy_index = policy_index::kLora,
          .module = "x + up(down(x)), down to 8",
          .start = "neutral: up is 0",
          .formula = "16C",
          .num_parameters = [](const FeatureShape& s) { return 2 * s.channels * kLoraRank; },
          .flops = [](const FeatureShape& s) { return 2 * s.channels * kLoraRank; },
          .refusal = [](const FeatureShape& s) { return lora_refusal(s.channels, kLoraRank); },
          .build = [](ModuleScope scope, const FeatureShape& s) { return build_lora(scope, s.channels, kLoraRank); },
          .algebra = Algebra::kAffine};
}

Blueprint mlp_small_row() {
  return {
      .name = "mlp_small",
      .fits = FeatureKind::kFeatures,
      .policy_index = policy_index::kMlpSmall,
      .module = "x + down(ReLU(up(x))), over M = max(1, C/2)",
      .start = "neutral: down is 0",
      .formula = "2CM + M + C",
      .num_parameters = [](const FeatureShape& s) { return mlp_parameters(s, small_width(s)); },
      .flops = [](const FeatureShape& s) { return 2 * s.channels * small_width(s); },
      .refusal = never_refused,
      .build = [](ModuleScope scope, const FeatureShape& s) { return build_mlp(scope, s.channels, small_width(s)); }};
}

Blueprint mlp_row() {
  return {
      .name = "mlp",
      .fits = FeatureKind::kFeatures,
      .policy_index = policy_index::kMlp,
      .module = "x + down(ReLU(up(x))), over 2C",
      .start = "neutral: down is 0",
      .formula = "4C² + 3C",
      .num_parameters = [](const FeatureShape& s) { return mlp_parameters(s, wide_width(s)); },
      .flops = [](const FeatureShape& s) { return 2 * s.channels * wide_width(s); },
      .refusal = never_refused,
      .build = [](ModuleScope scope, const FeatureShape& s) { return build_mlp(scope, s.channels, wide_width(s)); }};
}

Blueprint linear_row() {
  return {.name = "linear",
          .fits = FeatureKind::kFeatures,
          .policy_index = policy_index::kLinear,
          .module = "x + W x + b",
          .start = "neutral: W and b are 0",
          .formula = "C² + C",
          .num_parameters = [](const FeatureShape& s) { return s.channels * (s.channels + 1); },
          .flops = [](const FeatureShape& s) { return s.channels * s.channels; },
          .refusal = never_refused,
          .build = [](ModuleScope scope, const FeatureShape& s) { return build_linear(scope, s.channels); },
          .algebra = Algebra::kAffine};
}

}  // namespace

std::vector<Blueprint> feature_blueprints() {
  return {noop_blueprint(FeatureKind::kFeatures),
          attention_row(),
          norm_row(),
          lora_row(),
          mlp_small_row(),
          mlp_row(),
          linear_row()};
}

}  // namespace esper::kasmina
