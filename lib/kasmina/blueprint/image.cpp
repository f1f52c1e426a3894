// Modules for images, [B, C, H, W]. All convolutions keep the size and have no bias.
//
// Two of them end in a GroupNorm gain or a convolution of zeros instead of a zero convolution below a norm and a ReLU:
// a ReLU of zeros passes no gradient, and a norm blows the first small step of a zero convolution up to unit size.

#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>

#include <algorithm>

#include "kasmina/blueprint/families.h"

namespace esper::kasmina {
namespace {

constexpr std::int64_t kMinBottleneck = 8;

std::int64_t pixels(const FeatureShape& s) { return s.height * s.width; }
std::int64_t bottleneck_width(const FeatureShape& s) { return std::max(kMinBottleneck, s.channels / 4); }

std::string single_value_refusal(const FeatureShape& s) {
  return s.channels * pixels(s) > 1 ? "" : "the norm of a single value is zero";
}

std::string single_pixel_refusal(const FeatureShape& s) {
  return pixels(s) > 1 ? "" : "a 3x3 convolution of a single pixel sees padding only";
}

std::string bottleneck_refusal(const FeatureShape& s) {
  if (s.channels <= kMinBottleneck) {
    return "a bottleneck of 8 channels needs more than the " + std::to_string(s.channels) + " there are";
  }
  return single_pixel_refusal(s);
}

SeedForward build_norm(ModuleScope scope, const FeatureShape& shape) {
  const GroupNorm norm = make_group_norm(scope.child("norm"), shape.channels);
  const torch::Tensor scale = scope.parameter("scale", {1}, kZeros);
  return [norm, scale](const torch::Tensor& x, Mode) { return x + at::tanh(scale) * (norm(x) - x); };
}

SeedForward build_attention(ModuleScope scope, const FeatureShape& shape) {
  const ChannelGate gate = make_channel_gate(scope, shape.channels);
  return [gate](const torch::Tensor& x, Mode) { return x * gate(x.mean({2, 3})).unsqueeze(-1).unsqueeze(-1); };
}

SeedForward build_depthwise(ModuleScope scope, const FeatureShape& shape) {
  const auto c = shape.channels;
  const Conv2d depthwise = make_conv2d(scope.child("depthwise"), c, c, {.kernel = 3, .groups = c});
  const Conv2d pointwise = make_conv2d(scope.child("pointwise"), c, c, {.kernel = 1});
  const GroupNorm norm = make_group_norm(scope.child("norm"), c);
  return [=](const torch::Tensor& x, Mode) { return x + at::relu(norm(pointwise(depthwise(x)))); };
}

SeedForward build_bottleneck(ModuleScope scope, const FeatureShape& shape) {
  const auto c = shape.channels, m = bottleneck_width(shape);
  const Conv2d down = make_conv2d(scope.child("down"), c, m, {.kernel = 1});
  const Conv2d conv = make_conv2d(scope.child("conv"), m, m, {.kernel = 3});
  const Conv2d up = make_conv2d(scope.child("up"), m, c, {.kernel = 1});
  const GroupNorm norm = make_group_norm(scope.child("norm"), c, kZeros);
  return [=](const torch::Tensor& x, Mode) { return x + norm(up(at::relu(conv(at::relu(down(x)))))); };
}

SeedForward build_conv_small(ModuleScope scope, const FeatureShape& shape) {
  const GroupNorm norm = make_group_norm(scope.child("norm"), shape.channels);
  const Conv2d conv =
      make_conv2d(scope.child("conv"), shape.channels, shape.channels, {.kernel = 1, .weight_init = kZeros});
  return [=](const torch::Tensor& x, Mode) { return x + conv(at::relu(norm(x))); };
}

SeedForward build_conv_light(ModuleScope scope, const FeatureShape& shape) {
  const Conv2d conv = make_conv2d(scope.child("conv"), shape.channels, shape.channels, {.kernel = 3});
  const GroupNorm norm = make_group_norm(scope.child("norm"), shape.channels);
  return [=](const torch::Tensor& x, Mode) { return x + at::relu(norm(conv(x))); };
}

SeedForward build_conv_heavy(ModuleScope scope, const FeatureShape& shape) {
  const auto c = shape.channels;
  const Conv2d conv1 = make_conv2d(scope.child("conv1"), c, c, {.kernel = 3});
  const GroupNorm norm1 = make_group_norm(scope.child("norm1"), c);
  const Conv2d conv2 = make_conv2d(scope.child("conv2"), c, c, {.kernel = 3});
  const GroupNorm norm2 = make_group_norm(scope.child("norm2"), c);
  return [=](const torch::Tensor& x, Mode) { return x + at::relu(norm2(conv2(at::relu(norm1(conv1(x)))))); };
}

Blueprint norm_row() {
  return {.name = "norm",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kNorm,
          .module = "x + tanh(scale) (GroupNorm(x) - x)",
          .start = "neutral: scale is 0",
          .formula = "2C + 1",
          .num_parameters = [](const FeatureShape& s) { return 2 * s.channels + 1; },
          .flops = [](const FeatureShape& s) { return 2 * s.channels * pixels(s); },
          .refusal = single_value_refusal,
          .build = build_norm};
}

Blueprint attention_row() {
  return {.name = "attention",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kAttention,
          .module = "x * sigmoid(up(ReLU(down(mean over pixels)))), down to R = max(1, C/4)",
          .start = "scales by sigmoid(3) = 0.953",
          .formula = "2CR + R + C",
          .num_parameters = channel_gate_parameters,
          .flops =
              [](const FeatureShape& s) {
                return 2 * s.channels * channel_gate_width(s.channels) + s.channels * pixels(s);
              },
          .refusal = never_refused,
          .build = build_attention};
}

Blueprint depthwise_row() {
  return {.name = "depthwise",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kDepthwise,
          .module = "x + ReLU(GroupNorm(1x1(3x3 depthwise(x))))",
          .start = "random, normed",
          .formula = "C² + 11C",
          .num_parameters = [](const FeatureShape& s) { return s.channels * s.channels + 11 * s.channels; },
          .flops = [](const FeatureShape& s) { return (s.channels * s.channels + 10 * s.channels) * pixels(s); },
          .refusal = single_pixel_refusal,
          .build = build_depthwise};
}

Blueprint bottleneck_row() {
  return {.name = "bottleneck",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kBottleneck,
          .module = "x + GroupNorm(1x1(ReLU(3x3(ReLU(1x1(x)))))), over M = max(8, C/4)",
          .start = "neutral: the norm's gain is 0",
          .formula = "2CM + 9M² + 2C",
          .num_parameters =
              [](const FeatureShape& s) {
                const auto c = s.channels, m = bottleneck_width(s);
                return 2 * c * m + 9 * m * m + 2 * c;
              },
          .flops =
              [](const FeatureShape& s) {
                const auto c = s.channels, m = bottleneck_width(s);
                return (2 * c * m + 9 * m * m + c) * pixels(s);
              },
          .refusal = bottleneck_refusal,
          .build = build_bottleneck};
}

Blueprint conv_small_row() {
  return {.name = "conv_small",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kConvSmall,
          .module = "x + 1x1(ReLU(GroupNorm(x)))",
          .start = "neutral: the 1x1 is 0",
          .formula = "C² + 2C",
          .num_parameters = [](const FeatureShape& s) { return s.channels * s.channels + 2 * s.channels; },
          .flops = [](const FeatureShape& s) { return (s.channels * s.channels + s.channels) * pixels(s); },
          .refusal = single_value_refusal,
          .build = build_conv_small};
}

Blueprint conv_light_row() {
  return {.name = "conv_light",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kConvLight,
          .module = "x + ReLU(GroupNorm(3x3(x)))",
          .start = "random, normed",
          .formula = "9C² + 2C",
          .num_parameters = [](const FeatureShape& s) { return 9 * s.channels * s.channels + 2 * s.channels; },
          .flops = [](const FeatureShape& s) { return (9 * s.channels * s.channels + s.channels) * pixels(s); },
          .refusal = single_pixel_refusal,
          .build = build_conv_light};
}

Blueprint conv_heavy_row() {
  return {.name = "conv_heavy",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kConvHeavy,
          .module = "x + ReLU(GroupNorm(3x3(ReLU(GroupNorm(3x3(x))))))",
          .start = "random, normed",
          .formula = "18C² + 4C",
          .num_parameters = [](const FeatureShape& s) { return 18 * s.channels * s.channels + 4 * s.channels; },
          .flops = [](const FeatureShape& s) { return (18 * s.channels * s.channels + 2 * s.channels) * pixels(s); },
          .refusal = single_pixel_refusal,
          .build = build_conv_heavy};
}

// No bias: what follows may pad with zeros, which a bias would not reach.
SeedForward build_pointwise(ModuleScope scope, const FeatureShape& shape) {
  const Conv2d conv =
      make_conv2d(scope.child("conv"), shape.channels, shape.channels, {.kernel = 1, .weight_init = kZeros});
  return [conv](const torch::Tensor& x, Mode) { return x + conv(x); };
}

Blueprint pointwise_row() {
  return {.name = "pointwise",
          .fits = FeatureKind::kImage,
          .policy_index = policy_index::kPointwise,
          .module = "x + 1x1(x)",
          .start = "neutral: the 1x1 is 0",
          .formula = "C²",
          .num_parameters = [](const FeatureShape& s) { return s.channels * s.channels; },
          .flops = [](const FeatureShape& s) { return s.channels * s.channels * pixels(s); },
          .refusal = never_refused,
          .build = build_pointwise,
          .algebra = Algebra::kAffine};
}

}  // namespace

std::vector<Blueprint> image_blueprints() {
  return {noop_blueprint(FeatureKind::kImage),
          conv_light_row(),
          attention_row(),
          norm_row(),
          depthwise_row(),
          bottleneck_row(),
          conv_small_row(),
          conv_heavy_row(),
          pointwise_row()};
}

}  // namespace esper::kasmina
