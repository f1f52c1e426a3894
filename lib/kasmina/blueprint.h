#pragma once
// The modules of the catalogue (leyline/blueprint_table.h), each with its builder. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kasmina/host.h"
#include "leyline/blueprint_table.h"

namespace esper::kasmina {

using SeedForward = std::function<torch::Tensor(const torch::Tensor& feature, Mode mode)>;

// A grown module: maps a feature to a feature of the same shape. No blueprint has buffers or draws random numbers in
// its forward, so an unused seed cannot disturb the rest.
struct SeedModule {
  TensorTable tensors;
  SeedForward forward;
};

using leyline::Algebra;

struct Blueprint : leyline::BlueprintFacts {
  SeedForward (*build)(ModuleScope scope, const FeatureShape& shape);
};

// In the order of the table.
const std::vector<Blueprint>& blueprints();
// Null if this kind of feature has no blueprint of this name.
const Blueprint* find_blueprint(std::string_view name, FeatureKind kind);
// Tensor ids begin with the seed's: "seed-0001.conv.weight". refusal() must be empty for it.
SeedModule build_seed(const Blueprint& blueprint, const FeatureShape& shape, const std::string& seed_id,
                      std::uint64_t run_seed, torch::Device device);

// "features", "image", "sequence"
std::string_view to_string(FeatureKind kind);
// The text of docs/blueprints.md.
std::string blueprint_markdown();

}  // namespace esper::kasmina
