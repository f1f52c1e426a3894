#pragma once
// The layers that hosts and seeds are made of: plain structs of tensors, with PyTorch's formulas, parameter names and
// default start (Linear and Conv2d: uniform with bound 1/sqrt(fan_in); norms: ones and zeros). Training thread.
// Shapes: B batch, C channels, H height, W width, T tokens.

#include <torch/types.h>

#include <cstdint>
#include <optional>

#include "kasmina/tensor/mode.h"
#include "kasmina/tensor/tensor_table.h"

namespace esper::kasmina {

enum class Bias { kYes, kNo };

struct Linear {
  torch::Tensor weight;  // [out, in]
  torch::Tensor bias;    // [out], or undefined
  torch::Tensor operator()(const torch::Tensor& x) const;
};
struct LinearOptions {
  Bias bias = Bias::kYes;
  std::optional<Init> weight_init = std::nullopt;  // empty: PyTorch's default
  std::optional<Init> bias_init = std::nullopt;
};
Linear make_linear(ModuleScope scope, std::int64_t in, std::int64_t out, const LinearOptions& options = {});

// Stride 1, no bias (a norm follows), padding that keeps the size: kernel / 2. The kernel is odd.
struct Conv2d {
  torch::Tensor weight;  // [out, in / groups, kernel, kernel]
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  torch::Tensor operator()(const torch::Tensor& x) const;
};
struct Conv2dOptions {
  std::int64_t kernel = 3;
  std::int64_t groups = 1;
  std::optional<Init> weight_init = std::nullopt;
};
Conv2d make_conv2d(ModuleScope scope, std::int64_t in, std::int64_t out, const Conv2dOptions& options);

// The weight of a batch in the running statistics.
inline constexpr double kBatchNormMomentum = 0.1;

// [B, C, H, W]. Ioffe and Szegedy 2015; eps 1e-5.
struct BatchNorm2d {
  torch::Tensor weight, bias;               // [C]
  torch::Tensor running_mean, running_var;  // [C] buffers
  torch::Tensor num_batches_tracked;        // 0-dim int64 buffer
  torch::Tensor operator()(const torch::Tensor& x, Mode mode) const;
};
BatchNorm2d make_batch_norm(ModuleScope scope, std::int64_t channels);

// [B, C, ...]. Wu and He 2018; eps 1e-5.
struct GroupNorm {
  torch::Tensor weight, bias;  // [C]
  std::int64_t groups = 1;
  torch::Tensor operator()(const torch::Tensor& x) const;
};
GroupNorm make_group_norm(ModuleScope scope, std::int64_t channels, Init weight_init = kOnes);
// The largest of 32, 16, 8, 4, 2, 1 that divides the channels and leaves at least 16 in a group; below 16 channels 1.
std::int64_t num_groups(std::int64_t channels);

// [..., C], over the last dimension. Ba, Kiros and Hinton 2016; eps 1e-5.
struct LayerNorm {
  torch::Tensor weight, bias;  // [C]
  torch::Tensor operator()(const torch::Tensor& x) const;
};
LayerNorm make_layer_norm(ModuleScope scope, std::int64_t channels);

struct Embedding {
  torch::Tensor weight;                                          // [rows, width]
  torch::Tensor operator()(const torch::Tensor& indices) const;  // int64 [...] -> [..., width]
};
Embedding make_embedding(ModuleScope scope, std::int64_t rows, std::int64_t width, Init init);

// Scales by 1 / (1 - p) while training, so evaluation is the identity. p = 0 draws no random numbers.
torch::Tensor dropout(const torch::Tensor& x, double p, Mode mode);

// Causal multi-head attention: token t sees tokens 0..t. qkv's rows are queries, keys, values, in this order; the width
// is cut into heads.
struct SelfAttention {
  Linear qkv;   // [3 * width, width]
  Linear proj;  // [width, width]
  std::int64_t heads = 1;
  double dropout = 0;                                                 // of the attention weights
  torch::Tensor operator()(const torch::Tensor& x, Mode mode) const;  // [B, T, width]
  // The same with a caller's mask that is added to the scores, [heads, T, T]; it must contain the causal -inf.
  torch::Tensor with_mask(const torch::Tensor& x, const torch::Tensor& mask) const;
};

}  // namespace esper::kasmina
