#pragma once
// What of a network its step's program depends on, as text: two networks of equal text, whatever their tensors hold,
// have the same program for the same microbatches. Training thread.

#include <string>

#include "step/model.h"

namespace esper::lanes {

// Blueprints, slots, owners, and every parameter, buffer and scalar with type and shape, seeds by their aliases; none
// of seeds that are folded into the host. It changes when Network::structure_version() does, and where a structure
// comes back, so does its text.
std::string structure_of(const step::Model& model);

}  // namespace esper::lanes
