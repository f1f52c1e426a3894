// Modules for sequences, [B, T, C], causal: token t depends on tokens 0..t. T may be shorter than the slot's.

#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/softplus.h>

#include <cmath>
#include <limits>

#include "kasmina/blueprint/families.h"
#include "leyline/blueprint/blueprint_sizes.h"

namespace esper::kasmina {
namespace {

SelfAttention make_attention(ModuleScope scope, const FeatureShape& shape) {
  const auto c = shape.channels;
  return {make_linear(scope.child("qkv"), c, 3 * c),
          make_linear(scope.child("proj"), c, c, {.weight_init = kZeros, .bias_init = kZeros}), leyline::num_heads(c),
          0};
}

SeedForward build_sequence_attention(ModuleScope scope, const FeatureShape& shape) {
  const SelfAttention attention = make_attention(scope, shape);
  return [attention](const torch::Tensor& x, Mode mode) { return x + attention(x, mode); };
}

// Attention that learns, for each head, how fast a token's weight falls with its distance: the score of a token d back
// is lowered by softplus(slope) * d. Slopes start where Press et al. 2022 ("ALiBi") fix them, 2^(-8 (h + 1) / heads).
SeedForward build_flex_attention(ModuleScope scope, const FeatureShape& shape) {
  const SelfAttention attention = make_attention(scope, shape);
  const torch::Tensor slope = scope.parameter("slope", {attention.heads}, kZeros);
  {
    at::NoGradGuard guard;
    const torch::Tensor head = at::arange(1, attention.heads + 1, slope.options());
    const torch::Tensor fall = at::pow(2.0, head * (-8.0 / static_cast<double>(attention.heads)));
    slope.copy_(fall.expm1().log());  // softplus of it gives `fall`
  }
  const torch::Tensor position = at::arange(shape.tokens, slope.options());
  const torch::Tensor distance = position.unsqueeze(1) - position.unsqueeze(0);  // [T, T], negative for later tokens
  const torch::Tensor later = distance.lt(0);
  return [=](const torch::Tensor& x, Mode) {
    const auto t = x.size(1);
    const torch::Tensor near = distance.narrow(0, 0, t).narrow(1, 0, t);
    const torch::Tensor bias = -at::softplus(slope).view({-1, 1, 1}) * near;
    const torch::Tensor mask = bias.masked_fill(later.narrow(0, 0, t).narrow(1, 0, t), -INFINITY);
    return x + attention.with_mask(x, mask);
  };
}

SeedForward build_sequence_mlp(ModuleScope scope, std::int64_t channels, std::int64_t width) {
  const Linear up = make_linear(scope.child("up"), channels, width);
  const Linear down = make_linear(scope.child("down"), width, channels, {.weight_init = kZeros, .bias_init = kZeros});
  return [up, down](const torch::Tensor& x, Mode) { return x + down(at::gelu(up(x))); };
}

SeedForward build_sequence_small_mlp(ModuleScope scope, const FeatureShape& shape) {
  return build_sequence_mlp(scope, shape.channels, leyline::small_token_mlp_width(shape.channels));
}

SeedForward build_sequence_wide_mlp(ModuleScope scope, const FeatureShape& shape) {
  return build_sequence_mlp(scope, shape.channels, leyline::token_mlp_width(shape.channels));
}

constexpr Builder kSequenceBuilders[] = {{"noop", build_noop},
                                         {"attention", build_sequence_attention},
                                         {"norm", build_layer_norm_mix},
                                         {"lora", build_lora},
                                         {"lora_large", build_large_lora},
                                         {"mlp_small", build_sequence_small_mlp},
                                         {"mlp", build_sequence_wide_mlp},
                                         {"flex_attention", build_flex_attention},
                                         {"linear", build_linear},
                                         {"copy_block", nullptr},
                                         {"copy_block_plain", nullptr},
                                         {"widen", nullptr},
                                         {"widen_half", nullptr}};

}  // namespace

std::span<const Builder> sequence_builders() { return kSequenceBuilders; }

}  // namespace esper::kasmina
