#include "kasmina/tensor/layers.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <cmath>

#include "base/error.h"

namespace esper::kasmina {
namespace {

constexpr double kNormEps = 1e-5;

// kaiming_uniform_(a = sqrt(5)) of PyTorch is equivalent to this bound.
Init fan_in_uniform(std::int64_t fan_in) {
  return {Init::Kind::kUniform, 1.0 / std::sqrt(static_cast<double>(fan_in))};
}

struct Heads {
  torch::Tensor q, k, v;  // [B, heads, T, width / heads]
};

Heads split_heads(const SelfAttention& attention, const torch::Tensor& x) {
  const auto b = x.size(0), t = x.size(1), width = x.size(2);
  const auto parts = attention.qkv(x).split(width, 2);
  const auto cut = [&](const torch::Tensor& part) {
    return part.view({b, t, attention.heads, width / attention.heads}).transpose(1, 2);
  };
  return {cut(parts[0]), cut(parts[1]), cut(parts[2])};
}

torch::Tensor join_heads(const torch::Tensor& y) {
  return y.transpose(1, 2).reshape({y.size(0), y.size(2), y.size(1) * y.size(3)});
}

}  // namespace

torch::Tensor Linear::operator()(const torch::Tensor& x) const { return at::linear(x, weight, bias); }

Linear make_linear(ModuleScope scope, std::int64_t in, std::int64_t out, const LinearOptions& options) {
  const Init start = fan_in_uniform(in);
  Linear layer;
  layer.weight = scope.parameter("weight", {out, in}, options.weight_init.value_or(start));
  if (options.bias == Bias::kYes) layer.bias = scope.parameter("bias", {out}, options.bias_init.value_or(start));
  return layer;
}

torch::Tensor Conv2d::operator()(const torch::Tensor& x) const {
  return at::conv2d(x, weight, {}, /*stride=*/1, padding, /*dilation=*/1, groups);
}

Conv2d make_conv2d(ModuleScope scope, std::int64_t in, std::int64_t out, const Conv2dOptions& options) {
  ESPER_CHECK(options.kernel % 2 == 1, "a kernel is odd");
  ESPER_CHECK(in % options.groups == 0 && out % options.groups == 0, "groups divide the channels");
  const auto k = options.kernel, in_group = in / options.groups;
  const Init start = options.weight_init.value_or(fan_in_uniform(in_group * k * k));
  return {scope.parameter("weight", {out, in_group, k, k}, start), k / 2, options.groups};
}

torch::Tensor BatchNorm2d::operator()(const torch::Tensor& x, Mode mode) const {
  const auto normalise = [&](const torch::Tensor& mean, const torch::Tensor& var) {
    return at::batch_norm(x, weight, bias, mean, var, is_training(mode), kBatchNormMomentum, kNormEps,
                          /*cudnn_enabled=*/true);
  };
  // One value has no variance, so the running one would become NaN.
  const bool has_variance = x.numel() > x.size(1);
  if (mode == Mode::kTrainReadOnly || (is_training(mode) && !has_variance)) return normalise({}, {});
  if (is_training(mode)) num_batches_tracked.add_(1);
  return normalise(running_mean, running_var);
}

BatchNorm2d make_batch_norm(ModuleScope scope, std::int64_t channels) {
  return {scope.parameter("weight", {channels}, kOnes), scope.parameter("bias", {channels}, kZeros),
          scope.buffer("running_mean", at::zeros({channels})), scope.buffer("running_var", at::ones({channels})),
          scope.buffer("num_batches_tracked", at::zeros({}, torch::kInt64))};
}

torch::Tensor GroupNorm::operator()(const torch::Tensor& x) const {
  return at::group_norm(x, groups, weight, bias, kNormEps);
}

GroupNorm make_group_norm(ModuleScope scope, std::int64_t channels, Init weight_init) {
  return {scope.parameter("weight", {channels}, weight_init), scope.parameter("bias", {channels}, kZeros),
          num_groups(channels)};
}

std::int64_t num_groups(std::int64_t channels) {
  constexpr std::int64_t kMinGroupSize = 16;
  for (const std::int64_t groups : {32, 16, 8, 4, 2}) {
    if (channels % groups == 0 && channels / groups >= kMinGroupSize) return groups;
  }
  return 1;
}

torch::Tensor LayerNorm::operator()(const torch::Tensor& x) const {
  return at::layer_norm(x, {weight.size(0)}, weight, bias, kNormEps);
}

LayerNorm make_layer_norm(ModuleScope scope, std::int64_t channels) {
  return {scope.parameter("weight", {channels}, kOnes), scope.parameter("bias", {channels}, kZeros)};
}

torch::Tensor Embedding::operator()(const torch::Tensor& indices) const { return at::embedding(weight, indices); }

Embedding make_embedding(ModuleScope scope, std::int64_t rows, std::int64_t width, Init init) {
  return {scope.parameter("weight", {rows, width}, init)};
}

torch::Tensor dropout(const torch::Tensor& x, double p, Mode mode) {
  return p > 0 && has_dropout(mode) ? at::dropout(x, p, /*train=*/true) : x;
}

namespace {

// On a CPU the backward pass of attention in bf16 takes many times that in float32, so autocast is disabled here.
torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, double dropout) {
  constexpr bool kCausal = true;
  if (!q.is_cpu() || q.scalar_type() == torch::kFloat32) {
    return at::scaled_dot_product_attention(q, k, v, {}, dropout, kCausal);
  }
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const auto in_float = [](const torch::Tensor& tensor) { return tensor.to(torch::kFloat32); };
  return at::scaled_dot_product_attention(in_float(q), in_float(k), in_float(v), {}, dropout, kCausal);
}

}  // namespace

torch::Tensor SelfAttention::operator()(const torch::Tensor& x, Mode mode) const {
  const auto [q, k, v] = split_heads(*this, x);
  const double p = has_dropout(mode) ? dropout : 0.0;
  return proj(join_heads(causal_attention(q, k, v, p)));
}

torch::Tensor SelfAttention::with_mask(const torch::Tensor& x, const torch::Tensor& mask) const {
  const auto [q, k, v] = split_heads(*this, x);
  return proj(join_heads(at::scaled_dot_product_attention(q, k, v, mask)));
}

}  // namespace esper::kasmina
