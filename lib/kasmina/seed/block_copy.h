#pragma once
// Seeds that copy the host's block before their slot (leyline::Birth): depth that starts from what the host has
// learned. Training thread.

#include <vector>

#include "kasmina/seed/seed.h"
#include "kasmina/tensor/parameter_group.h"

namespace esper::kasmina {

// The copied parameters of a seed at that site, each with its source in the host; none for a seed of another birth. The
// gate of a composition is not copied.
std::vector<ParameterCopy> copies_of(const Seed& seed, const SlotSite& site, const TensorTable& host);

// Writes the values of the host's block into a new seed's copied parameters, or zeros, and into its buffers (batch
// norm's running statistics); of a widening see widening.h.
void copy_block(const Seed& seed, const SlotSite& site, const TensorTable& host);

}  // namespace esper::kasmina
