// Modules for sequences, [B, T, C], causal: token t depends on tokens 0..t. T may be shorter than the slot says.

#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/softplus.h>

#include <cmath>
#include <limits>

#include "kasmina/blueprint/families.h"

namespace esper::kasmina {
namespace {

// 64 wide where that divides the width, else the next smaller power of two; one head where none does.
std::int64_t num_heads(const FeatureShape& s) {
  for (const std::int64_t head_width : {64, 32, 16, 8}) {
    if (s.channels % head_width == 0) return s.channels / head_width;
  }
  return 1;
}

std::string attention_refusal(const FeatureShape& s) {
  return s.tokens > 1 ? "" : "attention needs more than one token";
}

SelfAttention make_attention(ModuleScope scope, const FeatureShape& shape) {
  const auto c = shape.channels;
  return {make_linear(scope.child("qkv"), c, 3 * c),
          make_linear(scope.child("proj"), c, c, {.weight_init = kZeros, .bias_init = kZeros}), num_heads(shape), 0};
}

SeedForward build_attention(ModuleScope scope, const FeatureShape& shape) {
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

SeedForward build_mlp(ModuleScope scope, std::int64_t channels, std::int64_t width) {
  const Linear up = make_linear(scope.child("up"), channels, width);
  const Linear down = make_linear(scope.child("down"), width, channels, {.weight_init = kZeros, .bias_init = kZeros});
  return [up, down](const torch::Tensor& x, Mode) { return x + down(at::gelu(up(x))); };
}

std::int64_t attention_flops(const FeatureShape& s) {
  // Four projections, then scores and weighted sums over all pairs of tokens (the causal half is not taken off).
  return 4 * s.tokens * s.channels * s.channels + 2 * s.tokens * s.tokens * s.channels;
}

Blueprint norm_row() {
  return {.name = "norm",
          .fits = FeatureKind::kSequence,
          .policy_index = policy_index::kNorm,
          .module = "x + tanh(scale) (LayerNorm(x) - x)",
          .start = "neutral: scale is 0",
          .formula = "2C + 1",
          .num_parameters = [](const FeatureShape& s) { return 2 * s.channels + 1; },
          .flops = [](const FeatureShape& s) { return 2 * s.channels * s.tokens; },
          .refusal = layer_norm_refusal,
          .build = [](ModuleScope scope, const FeatureShape& s) { return build_layer_norm_mix(scope, s.channels); }};
}

template <std::int64_t kRank>
Blueprint lora_row(std::string_view name, int index, std::string_view module, std::string_view formula) {
  return {.name = name,
          .fits = FeatureKind::kSequence,
          .policy_index = index,
          .module = module,
          .start = "neutral: up is 0",
          .formula = formula,
          .num_parameters = [](const FeatureShape& s) { return 2 * s.channels * kRank; },
          .flops = [](const FeatureShape& s) { return 2 * s.tokens * s.channels * kRank; },
          .refusal = [](const FeatureShape& s) { return lora_refusal(s.channels, kRank); },
          .build = [](ModuleScope scope, const FeatureShape& s) { return build_lora(scope, s.channels, kRank); },
          .algebra = Algebra::kAffine};
}

template <std::int64_t kFactor>
Blueprint mlp_row(std::string_view name, int index, std::string_view module, std::string_view formula) {
  return {.name = name,
          .fits = FeatureKind::kSequence,
          .policy_index = index,
          .module = module,
          .start = "neutral: down is 0",
          .formula = formula,
          .num_parameters = [](const FeatureShape& s) { return (2 * kFactor * s.channels + kFactor + 1) * s.channels; },
          .flops = [](const FeatureShape& s) { return 2 * kFactor * s.tokens * s.channels * s.channels; },
          .refusal = never_refused,
          .build = [](ModuleScope scope,
                      const FeatureShape& s) { return build_mlp(scope, s.channels, kFactor * s.channels); }};
}

Blueprint attention_row() {
  return {.name = "attention",
          .fits = FeatureKind::kSequence,
          .policy_index = policy_index::kAttention,
          .module = "x + causal multi-head attention(x)",
          .start = "neutral: proj is 0",
          .formula = "4C² + 4C",
          .num_parameters = [](const FeatureShape& s) { return 4 * s.channels * (s.channels + 1); },
          .flops = attention_flops,
          .refusal = attention_refusal,
          .build = build_attention};
}

Blueprint flex_attention_row() {
  return {.name = "flex_attention",
          .fits = FeatureKind::kSequence,
          .policy_index = policy_index::kFlexAttention,
          .module = "x + attention(x) whose scores fall with distance, at a rate learned for each of h heads",
          .start = "neutral: proj is 0",
          .formula = "4C² + 4C + h",
          .num_parameters = [](const FeatureShape& s) { return 4 * s.channels * (s.channels + 1) + num_heads(s); },
          .flops = [](const FeatureShape& s) { return attention_flops(s) + num_heads(s) * s.tokens * s.tokens; },
          .refusal = attention_refusal,
          .build = build_flex_attention};
}

Blueprint linear_row() {
  return {.name = "linear",
          .fits = FeatureKind::kSequence,
          .policy_index = policy_index::kLinear,
          .module = "x + W x + b",
          .start = "neutral: W and b are 0",
          .formula = "C² + C",
          .num_parameters = [](const FeatureShape& s) { return s.channels * (s.channels + 1); },
          .flops = [](const FeatureShape& s) { return s.tokens * s.channels * s.channels; },
          .refusal = never_refused,
          .build = [](ModuleScope scope, const FeatureShape& s) { return build_linear(scope, s.channels); },
          .algebra = Algebra::kAffine};
}

}  // namespace

std::vector<Blueprint> sequence_blueprints() {
  return {noop_blueprint(FeatureKind::kSequence),
          attention_row(),
          norm_row(),
          lora_row<kLoraRank>("lora", policy_index::kLora, "x + up(down(x)), down to 8", "16C"),
          lora_row<kLoraLargeRank>("lora_large", policy_index::kLoraLarge, "x + up(down(x)), down to 32", "64C"),
          mlp_row<2>("mlp_small", policy_index::kMlpSmall, "x + down(GELU(up(x))), over 2C", "4C² + 3C"),
          mlp_row<4>("mlp", policy_index::kMlp, "x + down(GELU(up(x))), over 4C", "8C² + 5C"),
          flex_attention_row(),
          linear_row()};
}

}  // namespace esper::kasmina
