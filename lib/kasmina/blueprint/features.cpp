// Modules for flat features, [B, C].

#include <ATen/ops/relu.h>

#include "kasmina/blueprint/families.h"
#include "leyline/blueprint/blueprint_sizes.h"

namespace esper::kasmina {
namespace {

SeedForward build_gate(ModuleScope scope, const FeatureShape& shape) {
  const ChannelGate gate = make_channel_gate(scope, shape.channels);
  return [gate](const torch::Tensor& x, Mode) { return x * gate(x); };
}

SeedForward build_feature_mlp(ModuleScope scope, std::int64_t channels, std::int64_t width) {
  const Linear up = make_linear(scope.child("up"), channels, width);
  const Linear down = make_linear(scope.child("down"), width, channels, {.weight_init = kZeros, .bias_init = kZeros});
  return [up, down](const torch::Tensor& x, Mode) { return x + down(at::relu(up(x))); };
}

SeedForward build_feature_small_mlp(ModuleScope scope, const FeatureShape& shape) {
  return build_feature_mlp(scope, shape.channels, leyline::small_mlp_width(shape.channels));
}

SeedForward build_feature_wide_mlp(ModuleScope scope, const FeatureShape& shape) {
  return build_feature_mlp(scope, shape.channels, leyline::mlp_width(shape.channels));
}

constexpr Builder kFeatureBuilders[] = {{"noop", build_noop},
                                        {"attention", build_gate},
                                        {"norm", build_layer_norm_mix},
                                        {"lora", build_lora},
                                        {"mlp_small", build_feature_small_mlp},
                                        {"mlp", build_feature_wide_mlp},
                                        {"linear", build_linear},
                                        {"widen", nullptr},
                                        {"widen_half", nullptr}};

}  // namespace

std::span<const Builder> feature_builders() { return kFeatureBuilders; }

}  // namespace esper::kasmina
