// Modules for flat features, [B, C].

#include <array>

#include "leyline/blueprint/blueprint_sizes.h"
#include "leyline/blueprint/blueprint_table.h"
#include "leyline/blueprint/widening_blueprints.h"

namespace esper::leyline {
namespace {

// Counted between blocks as wide as the slot's feature.
struct DenseWidening {
  static constexpr FeatureKind kFits = FeatureKind::kFeatures;
  static constexpr std::string_view kAsMany = "k = C more units of the block before the slot";
  static constexpr std::string_view kHalfAsMany = "k = max(1, C/2) more units of the block before the slot";
  static constexpr std::string_view kFormula = "k (in + 1 + out)";
  static constexpr std::int64_t width(const FeatureShape& s) { return s.channels; }
  static constexpr std::int64_t num_parameters(const FeatureShape& s, std::int64_t k) {
    return k * (2 * s.channels + 1);
  }
  static constexpr std::int64_t flops(const FeatureShape& s, std::int64_t k) { return 2 * s.channels * k; }
};

constexpr std::array kFeatureRows{
    noop_blueprint(FeatureKind::kFeatures),
    BlueprintFacts{
        .name = "attention",
        .fits = FeatureKind::kFeatures,
        .policy_index = policy_index::kAttention,
        .module = "x * sigmoid(up(ReLU(down(x)))), down to R = max(1, C/4)",
        .start = "scales by sigmoid(3) = 0.953",
        .formula = "2CR + R + C",
        .num_parameters =
            [](const FeatureShape& s) { return two_layer_parameters(s.channels, channel_gate_width(s.channels)); },
        .flops = [](const FeatureShape& s) { return 2 * s.channels * channel_gate_width(s.channels) + s.channels; },
    },
    BlueprintFacts{
        .name = "norm",
        .fits = FeatureKind::kFeatures,
        .policy_index = policy_index::kNorm,
        .module = "x + tanh(scale) (LayerNorm(x) - x)",
        .start = "neutral: scale is 0",
        .formula = "2C + 1",
        .num_parameters = [](const FeatureShape& s) { return 2 * s.channels + 1; },
        .flops = [](const FeatureShape& s) { return 2 * s.channels; },
        .channels = {2, "the norm of a single channel is zero"},
    },
    BlueprintFacts{
        .name = "lora",
        .fits = FeatureKind::kFeatures,
        .policy_index = policy_index::kLora,
        .module = "x + up(down(x)), down to 8",
        .start = "neutral: up is 0",
        .formula = "16C",
        .num_parameters = [](const FeatureShape& s) { return 2 * s.channels * kLoraRank; },
        .flops = [](const FeatureShape& s) { return 2 * s.channels * kLoraRank; },
        .channels = {kLoraRank + 1, "rank 8 is not low for {} channels"},
        .algebra = Algebra::kAffine,
    },
    BlueprintFacts{
        .name = "mlp_small",
        .fits = FeatureKind::kFeatures,
        .policy_index = policy_index::kMlpSmall,
        .module = "x + down(ReLU(up(x))), over M = max(1, C/2)",
        .start = "neutral: down is 0",
        .formula = "2CM + M + C",
        .num_parameters =
            [](const FeatureShape& s) { return two_layer_parameters(s.channels, small_mlp_width(s.channels)); },
        .flops = [](const FeatureShape& s) { return 2 * s.channels * small_mlp_width(s.channels); },
    },
    BlueprintFacts{
        .name = "mlp",
        .fits = FeatureKind::kFeatures,
        .policy_index = policy_index::kMlp,
        .module = "x + down(ReLU(up(x))), over 2C",
        .start = "neutral: down is 0",
        .formula = "4C² + 3C",
        .num_parameters = [](const FeatureShape& s) { return two_layer_parameters(s.channels, mlp_width(s.channels)); },
        .flops = [](const FeatureShape& s) { return 2 * s.channels * mlp_width(s.channels); },
    },
    BlueprintFacts{
        .name = "linear",
        .fits = FeatureKind::kFeatures,
        .policy_index = policy_index::kLinear,
        .module = "x + W x + b",
        .start = "neutral: W and b are 0",
        .formula = "C² + C",
        .num_parameters = [](const FeatureShape& s) { return s.channels * (s.channels + 1); },
        .flops = [](const FeatureShape& s) { return s.channels * s.channels; },
        .algebra = Algebra::kAffine,
    },
    widen_blueprint<DenseWidening>(),
    widen_half_blueprint<DenseWidening>(),
};

}  // namespace

std::span<const BlueprintFacts> feature_blueprints() { return kFeatureRows; }

}  // namespace esper::leyline
