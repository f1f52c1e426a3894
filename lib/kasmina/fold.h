#pragma once
// The algebra of folding a linear seed into the layer that takes the slot's output. Works on values: without gradients,
// in float64 where it multiplies. Training thread.

#include <torch/types.h>

#include <string>

#include "kasmina/seed.h"

namespace esper::kasmina {

// What leaves a slot, at each position: matrix * h + offset, h the channels of the host's feature there.
struct SlotMap {
  torch::Tensor matrix;  // float64 [C, C]
  torch::Tensor offset;  // float64 [C]
};

// Why a seed's slot is no such map at alpha 1; empty if it is one. ADD, CONVEX, RESIDUAL and CHANNEL of a module whose
// algebra is affine are.
std::string why_not_linear(const Seed& seed);
// At alpha 1. With S x + t the module: S and t for ADD and CONVEX, 1 + S and t for RESIDUAL, 1 + g (S - 1) and g t for
// CHANNEL. The module is run on the unit vectors, so it is what it does, not what it is meant to do. The seed must be
// linear.
SlotMap slot_map(const Seed& seed);

// A linear layer's parameters as they are in its module: weight [out, C] or [out, C, kernel, kernel] (stride 1, one
// group, padded with zeros), bias [out] or undefined.
struct LinearLayer {
  torch::Tensor weight, bias;
};
// The layer that does to h what `layer` does to the map's output: W M, b + W t. Values of their own, of the layer's
// types.
LinearLayer folded(const LinearLayer& layer, const SlotMap& map);
// Why it cannot be: an offset needs a bias to go to, and does not reach a convolution's padding. Empty if it can. Reads
// the device.
std::string why_not_folded(const LinearLayer& layer, const SlotMap& map);

}  // namespace esper::kasmina
