#include "kasmina/network/network_shadow.h"

namespace esper::kasmina {
namespace {

BlockOutput without_gradient(const BlockOutput& from) {
  BlockOutput values(from.feature.detach());
  for (const Carried& carried : from.carried) values.carried.push_back({carried.tensor.detach(), carried.rows});
  return values;
}

}  // namespace

torch::Tensor shadow(const NetworkState& network, std::size_t slot, const BlockOutput& from) {
  const auto& slots = network.structure.slots;
  SlotOutput whole(apply_whole_seed(*slots[slot].seed, from.feature, Mode::kTrainNoDropout));
  whole.carried = from.carried;
  return network.host.forward_from(slot, whole, Mode::kTrainReadOnly, [&](std::size_t at, const BlockOutput& next) {
    return output_of(slots[at], next, Mode::kTrainReadOnly);
  });
}

SlotTap tap_shadow(const NetworkState& network, std::size_t slot, const BlockOutput& from) {
  const BlockOutput values = without_gradient(from);
  const auto past = at::alias(from.feature);
  return {past,
          at::alias(from.feature),
          at::alias(past),
          at::zeros_like(values.feature),
          network.structure.slots[slot].seed->scalars.isolation_gate,
          [&network, slot, values] { return shadow(network, slot, values); }};
}

}  // namespace esper::kasmina
