#pragma once
// Widenings of the host's blocks: where they may be, and how they become part of it. Training thread.

#include <optional>
#include <string>

#include "base/expected.h"
#include "kasmina/network/network_state.h"

namespace esper::kasmina {

// Fails with the reason if the blueprint is a widening that the slot before rules out.
base::Expected<void> check_inlet(const NetworkState& network, const Slot& slot, const Blueprint& blueprint);

// The two weights whose columns a widening that still grows shares: the host's layer's and its own. They are parted
// when it fossilises (kasmina/seed/widening.h). Empty for any other seed.
struct SharedColumns {
  std::string host, seed;
};
std::optional<SharedColumns> shared_columns(const NetworkState& network, const std::string& seed_id);

// The host's weight before and after a widening becomes part of it; empty for another seed. Changes nothing.
struct Parting {
  TensorValues before, after;
};
std::optional<Parting> parting_of(const NetworkState& network, const Slot& slot);

}  // namespace esper::kasmina
