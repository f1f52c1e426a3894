#include "kasmina/network/network_tensors.h"

#include <tuple>
#include <utility>

#include "kasmina/network/network_frozen.h"
#include "kasmina/seed/block_copy.h"

namespace esper::kasmina {

std::vector<ParameterGroup> parameter_groups_of(const NetworkState& network) {
  std::vector<ParameterGroup> groups = {{kHostOwner, kHostOwner, {}}};
  for (const auto& parameter : network.host.tensors.parameters) {
    if (!is_frozen(network, parameter.id)) groups.front().parameters.push_back(parameter);
  }
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    const auto& seed = *slot->seed;
    if (seed.folded) continue;
    const bool grows = is_growing(slot->stage);
    groups.push_back({seed.id, grows ? seed.id : kHostOwner, seed.module.tensors.parameters, slot->site.id,
                      seed.scalars.training_gate, grows ? seed.scalars.isolation_gate : torch::Tensor(),
                      scalar_values(seed, slot->stage, network.growth).training_gate > 0, seed.training_epoch});
    groups.back().in_shadow = trains_in_shadow(*slot);
    if (grows) groups.back().copies = copies_of(seed, slot->site, network.host.tensors);
  }
  return groups;
}

std::vector<NamedTensor> buffers_of(const NetworkState& network) {
  auto all = network.host.tensors.buffers;
  for (const auto& parameter : network.host.tensors.parameters) {
    if (is_frozen(network, parameter.id)) all.push_back(parameter);
  }
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    const auto& own = slot->seed->module.tensors.buffers;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<NamedTensor> scalars_of(const NetworkState& network) {
  std::vector<NamedTensor> all;
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    const auto& [id, scalars] = std::tie(slot->seed->id, slot->seed->scalars);
    if (slot->seed->folded) continue;
    all.push_back({id + ".alpha", scalars.alpha});
    all.push_back({id + ".straight_through", scalars.straight_through});
    all.push_back({id + ".isolation_gate", scalars.isolation_gate});
    all.push_back({id + ".training_gate", scalars.training_gate});
  }
  return all;
}

std::int64_t num_parameters_of(const NetworkState& network) {
  std::int64_t count = network.host.tensors.num_parameters();
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    if (!slot->seed->folded) count += slot->seed->module.tensors.num_parameters();
  }
  return count;
}

std::int64_t num_learning_host_parameters(const NetworkState& network) {
  std::int64_t count = 0;
  for (const auto& group : parameter_groups_of(network)) {
    if (group.owner != kHostOwner) continue;
    for (const auto& parameter : group.parameters) count += parameter.tensor.numel();
  }
  return count;
}

void assign_owners(NetworkState& network) {
  OwnershipRegistry owners;
  owners.claim(network.host.tensors.parameters, kHostOwner);
  for (const auto& group : parameter_groups_of(network)) {
    if (group.id != kHostOwner) owners.claim(group.parameters, group.owner);
  }
  network.structure.ownership = std::move(owners);
}

}  // namespace esper::kasmina
