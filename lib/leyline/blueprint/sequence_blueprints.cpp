// Modules for sequences, [B, T, C], causal: token t depends on tokens 0..t. T may be shorter than the slot says.

#include <array>

#include "leyline/blueprint/blueprint_sizes.h"
#include "leyline/blueprint/blueprint_table.h"
#include "leyline/blueprint/widening_blueprints.h"

namespace esper::leyline {
namespace {

constexpr Least kTwoTokens{2, "attention needs more than one token"};

// Four projections, then scores and weighted sums over all pairs of tokens (the causal half is not taken off).
constexpr std::int64_t attention_flops(const FeatureShape& s) {
  return 4 * s.tokens * s.channels * s.channels + 2 * s.tokens * s.tokens * s.channels;
}

// The host's block: attention, an MLP and two norms.
constexpr BlueprintFacts block_copy(std::string_view name, int policy_index, std::string_view start, Birth birth) {
  return {.name = name,
          .fits = FeatureKind::kSequence,
          .policy_index = policy_index,
          .module = "the host's block: y + mlp(norm2(y)), y = x + attention(norm1(x))",
          .start = start,
          .formula = "12C² + 13C",
          .num_parameters = [](const FeatureShape& s) { return decoder_block_parameters(s.channels); },
          .flops =
              [](const FeatureShape& s) {
                return attention_flops(s) + 2 * s.tokens * s.channels * (token_mlp_width(s.channels) + 1);
              },
          .channels = {2, "the norm of a single channel is zero"},
          .birth = birth};
}

struct MlpWidening {
  static constexpr FeatureKind kFits = FeatureKind::kSequence;
  static constexpr std::string_view kAsMany = "k = 4C more units of the MLP in the block before the slot";
  static constexpr std::string_view kHalfAsMany = "k = 2C more units of the MLP in the block before the slot";
  static constexpr std::string_view kFormula = "k (2C + 1)";
  static constexpr std::int64_t width(const FeatureShape& s) { return token_mlp_width(s.channels); }
  static constexpr std::int64_t num_parameters(const FeatureShape& s, std::int64_t k) {
    return k * (2 * s.channels + 1);
  }
  static constexpr std::int64_t flops(const FeatureShape& s, std::int64_t k) { return 2 * s.tokens * s.channels * k; }
};

constexpr std::array kSequenceRows{
    noop_blueprint(FeatureKind::kSequence),
    BlueprintFacts{
        .name = "attention",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kAttention,
        .module = "x + causal multi-head attention(x)",
        .start = "neutral: proj is 0",
        .formula = "4C² + 4C",
        .num_parameters = [](const FeatureShape& s) { return 4 * s.channels * (s.channels + 1); },
        .flops = attention_flops,
        .positions = kTwoTokens,
    },
    BlueprintFacts{
        .name = "norm",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kNorm,
        .module = "x + tanh(scale) (LayerNorm(x) - x)",
        .start = "neutral: scale is 0",
        .formula = "2C + 1",
        .num_parameters = [](const FeatureShape& s) { return 2 * s.channels + 1; },
        .flops = [](const FeatureShape& s) { return 2 * s.channels * s.tokens; },
        .channels = {2, "the norm of a single channel is zero"},
    },
    BlueprintFacts{
        .name = "lora",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kLora,
        .module = "x + up(down(x)), down to 8",
        .start = "neutral: up is 0",
        .formula = "16C",
        .num_parameters = [](const FeatureShape& s) { return 2 * s.channels * kLoraRank; },
        .flops = [](const FeatureShape& s) { return 2 * s.tokens * s.channels * kLoraRank; },
        .channels = {kLoraRank + 1, "rank 8 is not low for {} channels"},
        .algebra = Algebra::kAffine,
    },
    BlueprintFacts{
        .name = "lora_large",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kLoraLarge,
        .module = "x + up(down(x)), down to 32",
        .start = "neutral: up is 0",
        .formula = "64C",
        .num_parameters = [](const FeatureShape& s) { return 2 * s.channels * kLoraLargeRank; },
        .flops = [](const FeatureShape& s) { return 2 * s.tokens * s.channels * kLoraLargeRank; },
        .channels = {kLoraLargeRank + 1, "rank 32 is not low for {} channels"},
        .algebra = Algebra::kAffine,
    },
    BlueprintFacts{
        .name = "mlp_small",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kMlpSmall,
        .module = "x + down(GELU(up(x))), over 2C",
        .start = "neutral: down is 0",
        .formula = "4C² + 3C",
        .num_parameters =
            [](const FeatureShape& s) { return two_layer_parameters(s.channels, small_token_mlp_width(s.channels)); },
        .flops = [](const FeatureShape& s) { return 2 * s.tokens * s.channels * small_token_mlp_width(s.channels); },
    },
    BlueprintFacts{
        .name = "mlp",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kMlp,
        .module = "x + down(GELU(up(x))), over 4C",
        .start = "neutral: down is 0",
        .formula = "8C² + 5C",
        .num_parameters =
            [](const FeatureShape& s) { return two_layer_parameters(s.channels, token_mlp_width(s.channels)); },
        .flops = [](const FeatureShape& s) { return 2 * s.tokens * s.channels * token_mlp_width(s.channels); },
    },
    BlueprintFacts{
        .name = "flex_attention",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kFlexAttention,
        .module = "x + attention(x) whose scores fall with distance, at a rate learned for each of h heads",
        .start = "neutral: proj is 0",
        .formula = "4C² + 4C + h",
        .num_parameters =
            [](const FeatureShape& s) { return 4 * s.channels * (s.channels + 1) + num_heads(s.channels); },
        .flops = [](const FeatureShape& s) { return attention_flops(s) + num_heads(s.channels) * s.tokens * s.tokens; },
        .positions = kTwoTokens,
    },
    BlueprintFacts{
        .name = "linear",
        .fits = FeatureKind::kSequence,
        .policy_index = policy_index::kLinear,
        .module = "x + W x + b",
        .start = "neutral: W and b are 0",
        .formula = "C² + C",
        .num_parameters = [](const FeatureShape& s) { return s.channels * (s.channels + 1); },
        .flops = [](const FeatureShape& s) { return s.tokens * s.channels * s.channels; },
        .algebra = Algebra::kAffine,
    },
    block_copy("copy_block", policy_index::kCopyBlock,
               "neutral: a copy of the block before the slot, attention.proj and mlp.down 0", Birth::kIdentityCopy),
    block_copy("copy_block_plain", policy_index::kCopyBlockPlain, "a copy of the block before the slot",
               Birth::kPlainCopy),
    widen_blueprint<MlpWidening>(),
    widen_half_blueprint<MlpWidening>(),
};

}  // namespace

std::span<const BlueprintFacts> sequence_blueprints() { return kSequenceRows; }

}  // namespace esper::leyline
