// Modules for images, [B, C, H, W]. All convolutions keep the size and have no bias.

#include <array>

#include "leyline/blueprint/blueprint_sizes.h"
#include "leyline/blueprint/blueprint_table.h"
#include "leyline/blueprint/widening_blueprints.h"

namespace esper::leyline {
namespace {

constexpr std::int64_t pixels(const FeatureShape& s) { return s.height * s.width; }

constexpr Least kTwoPixels{2, "a 3x3 convolution of a single pixel sees padding only"};
constexpr Least kTwoNumbers{2, "the norm of a single value is zero"};

// The residual block of a cnn: two 3x3 convolutions and two norms.
constexpr BlueprintFacts residual_block_copy(std::string_view name, int policy_index, std::string_view start,
                                             Birth birth) {
  return {.name = name,
          .fits = FeatureKind::kImage,
          .policy_index = policy_index,
          .module = "the host's residual block: ReLU(x + BatchNorm(3x3(ReLU(BatchNorm(3x3(x))))))",
          .start = start,
          .formula = "18C² + 4C",
          .num_parameters = [](const FeatureShape& s) { return 18 * s.channels * s.channels + 4 * s.channels; },
          .flops = [](const FeatureShape& s) { return (18 * s.channels * s.channels + 2 * s.channels) * pixels(s); },
          .birth = birth};
}

// Counted between 3x3 convolutions as wide as the slot's feature, without pooling.
struct ConvWidening {
  static constexpr FeatureKind kFits = FeatureKind::kImage;
  static constexpr std::string_view kAsMany = "k = C more channels of the block before the slot";
  static constexpr std::string_view kHalfAsMany = "k = max(1, C/2) more channels of the block before the slot";
  static constexpr std::string_view kFormula = "k (9 in + 2 + 9 out)";
  static constexpr std::int64_t width(const FeatureShape& s) { return s.channels; }
  static constexpr std::int64_t num_parameters(const FeatureShape& s, std::int64_t k) {
    return k * (18 * s.channels + 2);
  }
  static constexpr std::int64_t flops(const FeatureShape& s, std::int64_t k) {
    return k * (18 * s.channels + 1) * pixels(s);
  }
};

constexpr std::array kImageRows{
    noop_blueprint(FeatureKind::kImage),
    BlueprintFacts{
        .name = "conv_light",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kConvLight,
        .module = "x + ReLU(GroupNorm(3x3(x)))",
        .start = "random, normed",
        .formula = "9C² + 2C",
        .num_parameters = [](const FeatureShape& s) { return 9 * s.channels * s.channels + 2 * s.channels; },
        .flops = [](const FeatureShape& s) { return (9 * s.channels * s.channels + s.channels) * pixels(s); },
        .positions = kTwoPixels,
    },
    BlueprintFacts{
        .name = "attention",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kAttention,
        .module = "x * sigmoid(up(ReLU(down(mean over pixels)))), down to R = max(1, C/4)",
        .start = "scales by sigmoid(3) = 0.953",
        .formula = "2CR + R + C",
        .num_parameters =
            [](const FeatureShape& s) {
              const auto width = channel_gate_width(s.channels);
              return 2 * s.channels * width + width + s.channels;
            },
        .flops =
            [](const FeatureShape& s) {
              return 2 * s.channels * channel_gate_width(s.channels) + s.channels * pixels(s);
            },
    },
    BlueprintFacts{
        .name = "norm",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kNorm,
        .module = "x + tanh(scale) (GroupNorm(x) - x)",
        .start = "neutral: scale is 0",
        .formula = "2C + 1",
        .num_parameters = [](const FeatureShape& s) { return 2 * s.channels + 1; },
        .flops = [](const FeatureShape& s) { return 2 * s.channels * pixels(s); },
        .numbers = kTwoNumbers,
    },
    BlueprintFacts{
        .name = "depthwise",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kDepthwise,
        .module = "x + ReLU(GroupNorm(1x1(3x3 depthwise(x))))",
        .start = "random, normed",
        .formula = "C² + 11C",
        .num_parameters = [](const FeatureShape& s) { return s.channels * s.channels + 11 * s.channels; },
        .flops = [](const FeatureShape& s) { return (s.channels * s.channels + 10 * s.channels) * pixels(s); },
        .positions = kTwoPixels,
    },
    BlueprintFacts{
        .name = "bottleneck",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kBottleneck,
        .module = "x + GroupNorm(1x1(ReLU(3x3(ReLU(1x1(x)))))), over M = max(8, C/4)",
        .start = "neutral: the norm's gain is 0",
        .formula = "2CM + 9M² + 2C",
        .num_parameters =
            [](const FeatureShape& s) {
              const auto c = s.channels, m = bottleneck_width(c);
              return 2 * c * m + 9 * m * m + 2 * c;
            },
        .flops =
            [](const FeatureShape& s) {
              const auto c = s.channels, m = bottleneck_width(c);
              return (2 * c * m + 9 * m * m + c) * pixels(s);
            },
        .channels = {kMinBottleneck + 1, "a bottleneck of 8 channels needs more than the {} there are"},
        .positions = kTwoPixels,
    },
    BlueprintFacts{
        .name = "conv_small",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kConvSmall,
        .module = "x + 1x1(ReLU(GroupNorm(x)))",
        .start = "neutral: the 1x1 is 0",
        .formula = "C² + 2C",
        .num_parameters = [](const FeatureShape& s) { return s.channels * s.channels + 2 * s.channels; },
        .flops = [](const FeatureShape& s) { return (s.channels * s.channels + s.channels) * pixels(s); },
        .numbers = kTwoNumbers,
    },
    BlueprintFacts{
        .name = "conv_heavy",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kConvHeavy,
        .module = "x + ReLU(GroupNorm(3x3(ReLU(GroupNorm(3x3(x))))))",
        .start = "random, normed",
        .formula = "18C² + 4C",
        .num_parameters = [](const FeatureShape& s) { return 18 * s.channels * s.channels + 4 * s.channels; },
        .flops = [](const FeatureShape& s) { return (18 * s.channels * s.channels + 2 * s.channels) * pixels(s); },
        .positions = kTwoPixels,
    },
    BlueprintFacts{
        .name = "pointwise",
        .fits = FeatureKind::kImage,
        .policy_index = policy_index::kPointwise,
        .module = "x + 1x1(x)",
        .start = "neutral: the 1x1 is 0",
        .formula = "C²",
        .num_parameters = [](const FeatureShape& s) { return s.channels * s.channels; },
        .flops = [](const FeatureShape& s) { return s.channels * s.channels * pixels(s); },
        .algebra = Algebra::kAffine,
    },
    residual_block_copy("copy_block", policy_index::kCopyBlock, "neutral: a copy of the block before the slot, norm2 0",
                        Birth::kIdentityCopy),
    residual_block_copy("copy_block_plain", policy_index::kCopyBlockPlain, "a copy of the block before the slot",
                        Birth::kPlainCopy),
    widen_blueprint<ConvWidening>(),
    widen_half_blueprint<ConvWidening>(),
};

}  // namespace

std::span<const BlueprintFacts> image_blueprints() { return kImageRows; }

}  // namespace esper::leyline
