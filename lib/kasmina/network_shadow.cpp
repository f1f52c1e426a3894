// Seeds that train in the shadow of the network: a forward of their own, from their slot on.

#include "kasmina/network.h"

namespace esper::kasmina {

torch::Tensor Network::shadow(std::size_t slot, const torch::Tensor& feature) const {
  const auto whole = apply_whole_seed(*structure_.slots[slot].seed, feature, Mode::kTrainNoDropout);
  return host_.forward_from(slot, whole, Mode::kTrainReadOnly, [this](std::size_t at, const BlockOutput& next) {
    return output_of(structure_.slots[at], next, Mode::kTrainReadOnly);
  });
}

// The seed is no part of the forward that is tapped.
SlotTap Network::tap_shadow(std::size_t slot, const torch::Tensor& feature) const {
  const auto past = at::alias(feature), value = feature.detach();
  return {past,
          at::alias(feature),
          at::alias(past),
          at::zeros_like(value),
          structure_.slots[slot].seed->scalars.isolation_gate,
          [this, slot, value] { return shadow(slot, value); }};
}

}  // namespace esper::kasmina
