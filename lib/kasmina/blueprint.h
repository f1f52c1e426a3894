#pragma once
// The catalogue of modules that can be grown: one table for training, policy, docs and tests.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kasmina/host.h"

namespace esper::kasmina {

// A grown module: feature in, feature of the same shape out.
struct SeedModule {
  TensorTable tensors;
  std::function<torch::Tensor(const torch::Tensor& feature, Mode mode)> forward;
};

struct Blueprint {
  std::string_view name;
  FeatureKind fits;          // the kind of feature it can be grown at
  int policy_index;          // position in the policy's blueprint head; part of the contract
  std::string_view start;    // how it starts: "neutral" if its output equals its input at birth, else in words
  std::string_view formula;  // of the parameter count, for the docs
  std::int64_t (*num_parameters)(const FeatureShape& shape);
  std::int64_t (*flops)(const FeatureShape& shape);  // multiply-adds of one forward of one sample
  SeedModule (*build)(ModuleScope scope, const FeatureShape& shape);
};

const std::vector<Blueprint>& blueprints();
const Blueprint* find_blueprint(std::string_view name, FeatureKind kind);
// Why it cannot be grown at such a feature; empty if it can.
std::string refusal(const Blueprint& blueprint, const FeatureShape& shape);
SeedModule build_seed(const Blueprint& blueprint, const FeatureShape& shape, const std::string& seed_id,
                      std::uint64_t run_seed, torch::Device device);

}  // namespace esper::kasmina
