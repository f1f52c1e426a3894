#include "lanes/structure/structure.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kasmina/network/network_seeds.h"
#include "kasmina/slot/topology.h"
#include "lanes/lane/seed_aliases.h"

namespace esper::lanes {

using step::Model;

namespace {

void add_tensor(std::string& text, const std::string& name, const torch::Tensor& tensor) {
  text.append(name).append(" ").append(torch::toString(tensor.scalar_type()));
  for (const auto size : tensor.sizes()) text.append(" ").append(std::to_string(size));
  text.push_back('\n');
}

}  // namespace

// A folded seed is part of the host; no program depends on it.
std::string structure_of(const Model& model) {
  const SeedAliases aliases(model);
  const leyline::Topology topology = kasmina::topology_of(model.network.save_topology());
  const auto is_folded = [&](const leyline::SeedState& seed) {
    const auto slot = std::ranges::find(topology.slots, seed.slot, &leyline::SlotTopology::id);
    return slot != topology.slots.end() && slot->folded;
  };
  std::string text;
  for (const auto& seed : kasmina::export_seed_states(model.network.state())) {
    if (is_folded(seed)) continue;
    text.append(aliases.rename(seed.seed_id)).append(" ").append(seed.blueprint).append(" ").append(seed.slot);
    text.push_back('\n');
  }
  for (const auto& group : model.network.parameter_groups()) {
    text.append(aliases.rename(group.id)).append(" of ").append(aliases.rename(group.owner));
    text.append(group.in_shadow ? " in shadow\n" : "\n");
    for (const auto& [id, tensor] : group.parameters) add_tensor(text, aliases.rename(id), tensor);
  }
  for (const auto& [id, tensor] : model.network.buffers()) add_tensor(text, aliases.rename(id), tensor);
  for (const auto& [id, tensor] : model.network.scalars()) add_tensor(text, aliases.rename(id), tensor);
  return text;
}

}  // namespace esper::lanes
