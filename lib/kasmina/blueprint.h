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

using SeedForward = FeatureMap;

// A grown module: maps a feature to a feature of the same shape. None has buffers, and none but a copy of a block with
// dropout draws random numbers in its forward, so an unused seed cannot disturb the rest.
struct SeedModule {
  TensorTable tensors;
  SeedForward forward;
};

using leyline::Algebra;
using leyline::Birth;

struct Blueprint : leyline::BlueprintFacts {
  SeedForward (*build)(ModuleScope scope, const FeatureShape& shape);  // null for a copy: the host's block builds it
};

// In the order of the table.
const std::vector<Blueprint>& blueprints();
// Null if this kind of feature has no blueprint of this name.
const Blueprint* find_blueprint(std::string_view name, FeatureKind kind);
// Tensor ids begin with the seed's: "seed-0001.conv.weight". The blueprint must fit the site. All values are drawn,
// those of a copy too: kasmina/block_copy.h writes the copied ones.
SeedModule build_seed(const Blueprint& blueprint, const SlotSite& site, const std::string& seed_id,
                      std::uint64_t run_seed, torch::Device device);

// "features", "image", "sequence"
std::string_view to_string(FeatureKind kind);
// The text of docs/blueprints.md.
std::string blueprint_markdown();

}  // namespace esper::kasmina
