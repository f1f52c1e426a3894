#include "kasmina/network/network_shadow.h"

namespace esper::kasmina {

torch::Tensor shadow(const NetworkState& network, std::size_t slot, const torch::Tensor& feature) {
  const auto& slots = network.structure.slots;
  const auto whole = apply_whole_seed(*slots[slot].seed, feature, Mode::kTrainNoDropout);
  return network.host.forward_from(slot, whole, Mode::kTrainReadOnly, [&](std::size_t at, const BlockOutput& next) {
    return output_of(slots[at], next, Mode::kTrainReadOnly);
  });
}

SlotTap tap_shadow(const NetworkState& network, std::size_t slot, const torch::Tensor& feature) {
  const auto past = at::alias(feature), value = feature.detach();
  return {past,
          at::alias(feature),
          at::alias(past),
          at::zeros_like(value),
          network.structure.slots[slot].seed->scalars.isolation_gate,
          [&network, slot, value] { return shadow(network, slot, value); }};
}

}  // namespace esper::kasmina
