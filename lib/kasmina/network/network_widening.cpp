#include "kasmina/network/network_widening.h"

#include <fmt/core.h>

#include "kasmina/seed/lifecycle.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {

// Further units see what the host's block sees. If the block before has more than the host's, they would not be copies.
base::Expected<void> check_inlet(const NetworkState& network, const Slot& slot, const Blueprint& blueprint) {
  const bool takes_units =
      blueprint.birth == Birth::kWidening && slot.site.hidden->leads_to == HiddenLayer::Outlet::kNextBlock;
  if (!takes_units || &slot == &network.structure.slots.front()) return {};
  const Slot& before = network.structure.slots[index_of(network, slot) - 1];
  if (!before.seed || !is_widening(*before.seed)) return {};
  return base::failure(
      fmt::format("the block before it, at {}, was widened first; widen blocks from the output towards "
                  "the input",
                  before.site.id));
}

std::optional<SharedColumns> shared_columns(const NetworkState& network, const std::string& seed_id) {
  const auto* slot = find_seed(network.structure.slots, seed_id);
  if (!slot || !is_growing(slot->stage) || !is_widening(*slot->seed)) return std::nullopt;
  for (const auto& copy : copies_of_units(*slot->seed, slot->site)) {
    if (copy.source == slot->site.hidden->outlet) return SharedColumns{copy.source, copy.id};
  }
  return std::nullopt;
}

std::optional<Parting> parting_of(const NetworkState& network, const Slot& slot) {
  const auto shared = shared_columns(network, slot.seed->id);
  if (!shared) return std::nullopt;
  const auto weight = find_parameter(network.host.tensors, shared->host);
  const auto own = find_parameter(slot.seed->module.tensors, shared->seed);
  return Parting{{{weight, weight.detach().clone()}}, {{weight, parted_weight(weight, own)}}};
}

}  // namespace esper::kasmina
