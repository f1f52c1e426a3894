#pragma once
// What a forward costs, counted instead of timed, so that decisions made from it repeat. Any thread.

#include "kasmina/host/host.h"

namespace esper::kasmina {

// Multiply-adds of a forward of one sample through the host, estimated from its weights: each is used once at every
// pixel or token of its block. Attention's products of activations, norms and sums are not counted.
double host_flops(const Host& host);

}  // namespace esper::kasmina
