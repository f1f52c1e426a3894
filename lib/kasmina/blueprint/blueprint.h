#pragma once
// The modules of the catalogue (leyline/blueprint/blueprint_table.h), each with its builder. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "kasmina/host/host.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::kasmina {

using SeedForward = FeatureMap;

// A grown module: maps a feature to a feature of the same shape, or, of a widening, what the block's hidden layer takes
// to further units. None but a copy of a block and further units have buffers (batch norm's) or draw random numbers in
// the forward (dropout), so an unused seed cannot disturb the rest.
struct SeedModule {
  struct Further {
    torch::Tensor outlet;
    HiddenLayer::Outlet leads_to = HiddenLayer::Outlet::kNextBlock;
  };
  TensorTable tensors;
  SeedForward forward;
  Further further{};  // of a widening: see FurtherUnits and HiddenLayer
};

using leyline::Algebra;
using leyline::Birth;

struct Blueprint : leyline::BlueprintFacts {
  SeedForward (*build)(ModuleScope scope, const FeatureShape& shape);  // null where the host's block builds it
};

// In the order of the table.
const std::vector<Blueprint>& blueprints();
// Null if this kind of feature has no blueprint of this name.
const Blueprint* find_blueprint(std::string_view name, FeatureKind kind);

// The scope of one of several copies within their seed: "copy0".
std::string copy_name(int index);

// What a seed is made of: a blueprint and, of a copied block, how many in sequence.
struct SeedKind {
  const Blueprint* blueprint = nullptr;
  int copies = 1;
  bool operator==(const SeedKind&) const = default;
};
// "copy_block*3"
std::string name_of(const SeedKind& kind);
// Of such a name; fails if this kind of feature has no blueprint of that name. Whether it fits is not looked at.
base::Expected<SeedKind> find_seed_kind(std::string_view name, FeatureKind kind);

// As leyline's, and that the site has what a widening needs.
base::Expected<void> check_fit(const SeedKind& kind, const SlotSite& site);

// Tensor ids begin with the seed's: "seed-0001.conv.weight"; of several copies with that and the copy's:
// "seed-0001.copy0.norm1.weight". The kind must fit the site. All values are drawn, those of a copy too:
// kasmina/seed/block_copy.h and widening.h write the copied ones.
SeedModule build_seed(const SeedKind& kind, const SlotSite& site, const std::string& seed_id, std::uint64_t run_seed,
                      torch::Device device);

// "features", "image", "sequence"
std::string_view to_string(FeatureKind kind);
// The text of docs/blueprints.md.
std::string blueprint_markdown();

}  // namespace esper::kasmina
