// Modules for images, [B, C, H, W]. All convolutions keep the size and have no bias.
//
// Two of them end in a GroupNorm gain or a convolution of zeros instead of a zero convolution below a norm and a ReLU:
// a ReLU of zeros passes no gradient, and a norm blows the first small step of a zero convolution up to unit size.

#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>

#include "kasmina/blueprint/families.h"
#include "leyline/blueprint/blueprint_sizes.h"

namespace esper::kasmina {
namespace {

SeedForward build_norm(ModuleScope scope, const FeatureShape& shape) {
  const GroupNorm norm = make_group_norm(scope.child("norm"), shape.channels);
  const torch::Tensor scale = scope.parameter("scale", {1}, kZeros);
  return [norm, scale](const torch::Tensor& x, Mode) { return x + at::tanh(scale) * (norm(x) - x); };
}

SeedForward build_image_attention(ModuleScope scope, const FeatureShape& shape) {
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
  const auto c = shape.channels, m = leyline::bottleneck_width(c);
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

// No bias: the next layer may pad with zeros, which a bias would not reach.
SeedForward build_pointwise(ModuleScope scope, const FeatureShape& shape) {
  const Conv2d conv =
      make_conv2d(scope.child("conv"), shape.channels, shape.channels, {.kernel = 1, .weight_init = kZeros});
  return [conv](const torch::Tensor& x, Mode) { return x + conv(x); };
}

constexpr Builder kImageBuilders[] = {{"noop", build_noop},
                                      {"conv_light", build_conv_light},
                                      {"attention", build_image_attention},
                                      {"norm", build_norm},
                                      {"depthwise", build_depthwise},
                                      {"bottleneck", build_bottleneck},
                                      {"conv_small", build_conv_small},
                                      {"conv_heavy", build_conv_heavy},
                                      {"pointwise", build_pointwise},
                                      {"copy_block", nullptr},
                                      {"copy_block_plain", nullptr},
                                      {"widen", nullptr},
                                      {"widen_half", nullptr}};

}  // namespace

std::span<const Builder> image_builders() { return kImageBuilders; }

}  // namespace esper::kasmina
