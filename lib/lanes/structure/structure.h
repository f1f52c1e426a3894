#pragma once
// The properties of a network on which its step's program depends, as text: two networks with equal text have the same
// program for the same microbatches, whatever values their tensors hold. Training thread.

#include <string>

#include "step/model.h"

namespace esper::lanes {

// Blueprints, slots, owners, which seeds train in the shadow of the network, and every parameter, buffer and scalar
// with type and shape, seeds by their aliases; seeds that are folded into the host are omitted. The text changes when
// Network::structure_version() does; a structure that returns has the same text again.
std::string structure_of(const step::Model& model);

}  // namespace esper::lanes
