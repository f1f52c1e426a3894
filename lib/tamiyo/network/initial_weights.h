#pragma once
// The weights of a policy that has not learned. Any thread.

#include <cstdint>

#include "tamiyo/network/weights.h"

namespace esper::tamiyo {

// As PyTorch Geometric and PyTorch initialise these layers, with numbers that depend on `seed` alone: encoders Xavier
// uniform with zero biases, GraphSAGE and heads uniform within 1/sqrt(inputs), GAT Glorot uniform. The policy head is
// zeros with bias +0.5 for action 0 and -0.5 for the others: a fresh policy waits, whatever it sees.
Weights initial_weights(std::uint64_t seed);

}  // namespace esper::tamiyo
