#include "lanes/structure.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "kasmina/topology.h"

namespace esper::lanes {

using step::Model;

namespace {

void add_tensor(std::string& text, const std::string& name, const torch::Tensor& tensor) {
  text.append(name).append(" ").append(torch::toString(tensor.scalar_type()));
  for (const auto size : tensor.sizes()) text.append(" ").append(std::to_string(size));
  text.push_back('\n');
}

}  // namespace

SeedAliases::SeedAliases(const Model& model) {
  for (const auto& group : model.network.parameter_groups()) {
    if (group.id != kasmina::kHostOwner) ids_.push_back(group.id);
  }
}

std::string SeedAliases::rename(const std::string& name) const {
  std::string text = name;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::string& id = ids_[i];
    for (auto at = text.find(id); at != std::string::npos; at = text.find(id, at + 1)) {
      const auto end = at + id.size();  // seed-1000 is also how seed-10000 begins
      if (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) continue;
      text.replace(at, id.size(), "seed." + std::to_string(i + 1));
    }
  }
  return text;
}

// A folded seed is part of the host: nothing of it is left that a program could depend on.
std::string structure_of(const Model& model) {
  const SeedAliases aliases(model);
  const leyline::Topology topology = kasmina::topology_of(model.network.save_topology());
  const auto is_folded = [&](const leyline::SeedState& seed) {
    const auto slot = std::ranges::find(topology.slots, seed.slot, &leyline::SlotTopology::id);
    return slot != topology.slots.end() && slot->folded;
  };
  std::string text;
  for (const auto& seed : model.network.export_seed_states()) {
    if (is_folded(seed)) continue;
    text.append(aliases.rename(seed.seed_id)).append(" ").append(seed.blueprint).append(" ").append(seed.slot);
    text.push_back('\n');
  }
  for (const auto& group : model.network.parameter_groups()) {
    text.append(aliases.rename(group.id)).append(" of ").append(aliases.rename(group.owner)).append("\n");
    for (const auto& [id, tensor] : group.parameters) add_tensor(text, aliases.rename(id), tensor);
  }
  for (const auto& [id, tensor] : model.network.buffers()) add_tensor(text, aliases.rename(id), tensor);
  for (const auto& [id, tensor] : model.network.scalars()) add_tensor(text, aliases.rename(id), tensor);
  return text;
}

}  // namespace esper::lanes
