#include "kasmina/network/network_forward.h"

#include <algorithm>

#include "kasmina/network/network_shadow.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {

namespace {

// A feature behind nothing that learns has no gradient by itself; what a tap measures is one.
BlockOutput with_gradient(const BlockOutput& from) {
  BlockOutput traced = from;
  if (!from.feature.requires_grad()) traced.feature = from.feature.detach().requires_grad_();
  return traced;
}

}  // namespace

torch::Tensor forward(const NetworkState& network, const torch::Tensor& inputs, Mode mode) {
  return network.host.forward(inputs, mode, [&network, mode](std::size_t slot, const BlockOutput& from) {
    return output_of(network.structure.slots[slot], from, mode);
  });
}

void forward_with_shadows(const NetworkState& network, const torch::Tensor& inputs) {
  network.host.forward(inputs, Mode::kTrain, [&network](std::size_t at, const BlockOutput& from) {
    const Slot& slot = network.structure.slots[at];
    if (trains_in_shadow(slot)) apply_whole_seed(*slot.seed, from.feature, Mode::kTrainNoDropout);
    return output_of(slot, from, Mode::kTrain);
  });
}

SlotTaps tap(const NetworkState& network, const torch::Tensor& inputs, Mode mode, torch::Tensor& output) {
  const auto& slots = network.structure.slots;
  const auto creation_order = [&slots](const Slot& of) {
    return std::count_if(slots.begin(), slots.end(), [&](const Slot& slot) {
      return is_growing(slot.stage) && slot.seed->number < of.seed->number;
    });
  };
  const auto growing = std::count_if(slots.begin(), slots.end(), [](auto& slot) { return is_growing(slot.stage); });
  SlotTaps taps(static_cast<std::size_t>(growing));
  output = network.host.forward(inputs, mode, [&](std::size_t at, const BlockOutput& plain) -> SlotOutput {
    const Slot& slot = slots[at];
    if (!is_growing(slot.stage)) return output_of(slot, plain, mode);
    const BlockOutput from = with_gradient(plain);
    SlotTap& own = taps[static_cast<std::size_t>(creation_order(slot))];
    if (!trains_in_shadow(slot)) {
      SlotOutput passed{torch::Tensor()};
      own = tap_pass(*slot.seed, from, mode, passed);
      return passed;
    }
    own = tap_shadow(network, at, from);
    return own.output;
  });
  return taps;
}

}  // namespace esper::kasmina
