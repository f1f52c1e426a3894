// Every layer against PyTorch's own module with the same tensors: values, gradients and running statistics.

#include "kasmina/tensor/layers.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <catch2/catch_test_macros.hpp>

namespace esper::kasmina::layers_test {
namespace {

struct Fixture {
  TensorTable table;
  ModuleScope scope{table, "host", 3, torch::kCPU};
};

void assign(const torch::Tensor& to, const torch::Tensor& from) {
  at::NoGradGuard guard;
  to.copy_(from);
}

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST_CASE("linear equals torch.nn.Linear, and starts like it") {
  Fixture f;
  const Linear mine = make_linear(f.scope, 5, 7);
  torch::nn::Linear theirs(5, 7);
  assign(theirs->weight, mine.weight);
  assign(theirs->bias, mine.bias);
  const torch::Tensor x = at::randn({3, 5});
  CHECK(mine(x).equal(theirs->forward(x)));
  CHECK(mine.weight.abs().max().item<double>() <= 1 / std::sqrt(5.0));
  CHECK(mine.bias.abs().max().item<double>() <= 1 / std::sqrt(5.0));
  CHECK(f.table.parameters[0].id == "host.weight");
  CHECK_FALSE(make_linear(f.scope.child("b"), 5, 7, {.bias = Bias::kNo}).bias.defined());
}

TEST_CASE("convolution equals torch.nn.Conv2d, grouped too") {
  for (const std::int64_t groups : {1, 4}) {
    Fixture f;
    const Conv2d mine = make_conv2d(f.scope, 4, 8, {.kernel = 5, .groups = groups});
    torch::nn::Conv2d theirs(torch::nn::Conv2dOptions(4, 8, 5).padding(2).groups(groups).bias(false));
    assign(theirs->weight, mine.weight);
    const torch::Tensor x = at::randn({2, 4, 6, 7});
    CHECK(mine(x).equal(theirs->forward(x)));
    CHECK(mine.weight.abs().max().item<double>() <= 1 / std::sqrt(25.0 * 4 / static_cast<double>(groups)));
  }
}

TEST_CASE("one value in a channel moves no running statistic of a batch norm: it has no variance") {
  Fixture f;
  const BatchNorm2d norm = make_batch_norm(f.scope, 4);
  norm(at::randn({1, 4, 1, 1}), Mode::kTrain);
  CHECK(norm.running_var.equal(at::ones({4})));
  CHECK(norm.running_mean.equal(at::zeros({4})));
  CHECK(norm.num_batches_tracked.item<std::int64_t>() == 0);
  norm(at::randn({2, 4, 1, 1}), Mode::kTrain);
  CHECK_FALSE(norm.running_var.equal(at::ones({4})));
  CHECK(norm.running_var.isfinite().all().item<bool>());
}

TEST_CASE("batch norm equals torch.nn.BatchNorm2d over training steps and in evaluation") {
  Fixture f;
  const BatchNorm2d mine = make_batch_norm(f.scope, 4);
  torch::nn::BatchNorm2d theirs(4);
  for (int step = 0; step < 3; ++step) {
    const torch::Tensor x = at::randn({2, 4, 3, 3}) * 2 + 1;
    CHECK(mine(x, Mode::kTrain).equal(theirs->forward(x)));
  }
  CHECK(mine.running_mean.equal(theirs->running_mean));
  CHECK(mine.running_var.equal(theirs->running_var));
  CHECK(mine.num_batches_tracked.item<std::int64_t>() == 3);
  theirs->eval();
  const torch::Tensor x = at::randn({2, 4, 3, 3});
  const torch::Tensor before = mine.running_mean.clone();
  CHECK(mine(x, Mode::kEvaluate).equal(theirs->forward(x)));
  CHECK(mine.running_mean.equal(before));
  CHECK(mine.num_batches_tracked.item<std::int64_t>() == 3);
  CHECK(f.table.buffers.size() == 3);
}

TEST_CASE("batch norm that trains read-only normalises by the batch and leaves its buffers alone") {
  Fixture f;
  const BatchNorm2d norm = make_batch_norm(f.scope, 4);
  const torch::Tensor x = at::randn({2, 4, 3, 3}) * 2 + 1;
  const torch::Tensor y = norm(x, Mode::kTrainReadOnly);
  CHECK(norm.running_mean.eq(0).all().item<bool>());
  CHECK(norm.running_var.eq(1).all().item<bool>());
  CHECK(norm.num_batches_tracked.item<std::int64_t>() == 0);
  CHECK(largest_difference(y, norm(x, Mode::kTrain)) < 1e-6);
  CHECK(largest_difference(y, norm(x, Mode::kTrainNoDropout)) < 1e-6);
  CHECK(norm.num_batches_tracked.item<std::int64_t>() == 2);
}

TEST_CASE("group norm and layer norm equal torch.nn's") {
  Fixture f;
  const GroupNorm group = make_group_norm(f.scope.child("g"), 64);
  torch::nn::GroupNorm their_group(torch::nn::GroupNormOptions(4, 64));
  const torch::Tensor image = at::randn({2, 64, 3, 3});
  CHECK(group.groups == 4);
  CHECK(group(image).equal(their_group->forward(image)));
  const LayerNorm layer = make_layer_norm(f.scope.child("l"), 6);
  torch::nn::LayerNorm their_layer(torch::nn::LayerNormOptions({6}));
  const torch::Tensor sequence = at::randn({2, 5, 6});
  CHECK(layer(sequence).equal(their_layer->forward(sequence)));
}

TEST_CASE("groups are the most that leave 16 channels in each") {
  CHECK(num_groups(512) == 32);
  CHECK(num_groups(256) == 16);
  CHECK(num_groups(64) == 4);
  CHECK(num_groups(48) == 2);
  CHECK(num_groups(32) == 2);
  CHECK(num_groups(24) == 1);
  CHECK(num_groups(3) == 1);
}

// torch::nn::MultiheadAttention with the same tensors: in_proj is q, k, v in this order, as qkv is.
TEST_CASE("attention equals torch.nn.MultiheadAttention with a causal mask") {
  Fixture f;
  const SelfAttention mine{make_linear(f.scope.child("qkv"), 8, 24), make_linear(f.scope.child("proj"), 8, 8), 2, 0};
  torch::nn::MultiheadAttention theirs(8, 2);
  assign(theirs->in_proj_weight, mine.qkv.weight);
  assign(theirs->in_proj_bias, mine.qkv.bias);
  assign(theirs->out_proj->weight, mine.proj.weight);
  assign(theirs->out_proj->bias, mine.proj.bias);
  const torch::Tensor x = at::randn({3, 5, 8});
  const torch::Tensor mask = at::full({5, 5}, -INFINITY).triu(1);
  const torch::Tensor along = x.transpose(0, 1);
  const auto [expected, weights] = theirs->forward(along, along, along, {}, true, mask);
  CHECK(largest_difference(mine(x, Mode::kTrain), expected.transpose(0, 1)) < 1e-6);
  CHECK(largest_difference(mine.with_mask(x, mask.expand({2, 5, 5})), expected.transpose(0, 1)) < 1e-6);
}

TEST_CASE("dropout drops while training only, and keeps the mean") {
  const torch::Tensor x = at::ones({100, 100});
  CHECK(dropout(x, 0.25, Mode::kEvaluate).equal(x));
  CHECK(dropout(x, 0, Mode::kTrain).equal(x));
  CHECK(dropout(x, 0.25, Mode::kTrainReadOnly).equal(x));
  CHECK(dropout(x, 0.25, Mode::kTrainNoDropout).equal(x));
  const torch::Tensor y = dropout(x, 0.25, Mode::kTrain);
  CHECK(std::abs(y.eq(0).to(torch::kFloat32).mean().item<double>() - 0.25) < 0.03);
  CHECK(std::abs(y.mean().item<double>() - 1) < 0.05);
}

}  // namespace
}  // namespace esper::kasmina::layers_test
