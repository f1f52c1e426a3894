// Widenings of the host's blocks: where they may be, and how they become part of it.

#include <fmt/core.h>

#include "kasmina/lifecycle.h"
#include "kasmina/network.h"
#include "kasmina/widening.h"

namespace esper::kasmina {

// Further units see what the host's block sees. If the block before has more than the host's, they would not be copies.
base::Expected<void> Network::check_inlet(const Slot& slot, const Blueprint& blueprint) const {
  const bool takes_units =
      blueprint.birth == Birth::kWidening && slot.site.hidden->leads_to == HiddenLayer::Outlet::kNextBlock;
  if (!takes_units || &slot == &structure_.slots.front()) return {};
  const Slot& before = structure_.slots[index_of(slot) - 1];
  if (!before.seed || !is_widening(*before.seed)) return {};
  return base::failure(
      fmt::format("the block before it, at {}, was widened first; widen blocks from the output towards "
                  "the input",
                  before.site.id));
}

std::optional<Network::SharedColumns> Network::shared_columns(const std::string& seed_id) const {
  const auto* slot = find_seed(structure_.slots, seed_id);
  if (!slot || !is_growing(slot->stage) || !is_widening(*slot->seed)) return std::nullopt;
  for (const auto& copy : copies_of_units(*slot->seed, slot->site)) {
    if (copy.source == slot->site.hidden->outlet) return SharedColumns{copy.source, copy.id};
  }
  return std::nullopt;
}

std::optional<Network::Parting> Network::parting_of(const Slot& slot) const {
  const auto shared = shared_columns(slot.seed->id);
  if (!shared) return std::nullopt;
  const auto weight = find_parameter(host_.tensors, shared->host);
  const auto own = find_parameter(slot.seed->module.tensors, shared->seed);
  return Parting{{{weight, weight.detach().clone()}}, {{weight, parted_weight(weight, own)}}};
}

}  // namespace esper::kasmina
