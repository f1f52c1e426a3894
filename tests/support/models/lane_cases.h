#pragma once
// Networks and batches on which lanes are compared.

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::tests {

struct LaneCase {
  std::string name;
  config::RunConfig config;
  leyline::SampleShape sample;
  std::int64_t batch = 0;
  torch::ScalarType compute = torch::kFloat32;
};

inline LaneCase lane_case(const std::string& name, config::HostKind kind, const leyline::SampleShape& sample,
                          std::int64_t batch) {
  LaneCase c{name, {}, sample, batch};
  c.config.host.kind = kind;
  c.config.training.optimizer.lr = 0.01;
  return c;
}

inline std::vector<LaneCase> lane_cases() {
  using config::HostKind;
  using config::OptimizerKind;
  LaneCase linear = lane_case("linear_sgd", HostKind::kLinear, leyline::features_shape(16, 4), 4);
  LaneCase mlp = lane_case("mlp_adamw", HostKind::kMlp, leyline::features_shape(64, 64), 32);
  mlp.config.host.hidden = {64, 64, 64};
  mlp.config.training.optimizer.kind = OptimizerKind::kAdamw;
  mlp.config.training.optimizer.lr = 1e-3;
  mlp.config.training.optimizer.weight_decay = 0.01;
  LaneCase wide = lane_case("mlp_wide", HostKind::kMlp, leyline::features_shape(784, 10), 128);
  wide.config.host.hidden = {256};
  LaneCase wide_bf16 = wide;
  wide_bf16.name = "mlp_wide_bf16";
  wide_bf16.compute = torch::kBFloat16;
  LaneCase cnn = lane_case("cnn_sgd", HostKind::kCnn, leyline::image_shape(1, 28, 28, 10), 64);
  cnn.config.host.blocks = cnn.config.host.pool_layers = 2;
  cnn.config.host.base_channels = 16;
  LaneCase transformer = lane_case("transformer_adamw_clip", HostKind::kTransformer, leyline::tokens_shape(64, 65), 8);
  transformer.config.host.layers = 2;
  transformer.config.host.segments = 2;
  transformer.config.host.embedding = 64;
  transformer.config.host.heads = 4;
  transformer.config.host.dropout = 0.1;
  transformer.config.training.optimizer = mlp.config.training.optimizer;
  transformer.config.training.clip_norm = 1.0;
  LaneCase transformer_bf16 = transformer;
  transformer_bf16.name = "transformer_bf16";
  transformer_bf16.compute = torch::kBFloat16;
  return {linear, mlp, wide, wide_bf16, cnn, transformer, transformer_bf16};
}

inline std::unique_ptr<step::Model> make_model(const LaneCase& c, torch::Device device = torch::kCPU) {
  return step::build_model(c.config, c.sample, step::step_settings(c.config, c.compute), device);
}

// Microbatches of one step; `seed` tells steps apart.
inline std::vector<step::Microbatch> make_batches(const LaneCase& c, int count, std::uint64_t seed = 3) {
  at::manual_seed(seed);
  std::vector<step::Microbatch> batches;
  for (int i = 0; i < count; ++i) {
    std::vector<std::int64_t> shape = {c.batch};
    for (const std::int64_t size : c.sample.sizes()) shape.push_back(size);
    const bool tokens = c.sample.kind == leyline::SampleKind::kTokens;
    batches.push_back(
        {tokens ? at::randint(c.sample.num_classes, shape, torch::kInt64) : at::randn(shape),
         at::randint(c.sample.num_classes, tokens ? shape : std::vector<std::int64_t>{c.batch}, torch::kInt64)});
  }
  return batches;
}

}  // namespace esper::tests
