#pragma once
// The algebra of folding a linear seed into the layer that consumes the slot's output. Works on values, without
// gradients; products are in float64. Training thread.

#include <torch/types.h>

#include <optional>

#include "base/expected.h"
#include "kasmina/seed/seed.h"

namespace esper::kasmina {

// The output of a slot at each position: matrix * h + offset, h the channels of the host's feature there.
struct SlotMap {
  torch::Tensor matrix;  // float64 [C, C]
  torch::Tensor offset;  // float64 [C]
};

// Fails with the reason if a seed's slot is no such map at alpha 1. ADD, CONVEX, RESIDUAL and CHANNEL of a module whose
// algebra is affine are.
base::Expected<void> check_linear(const Seed& seed);
// At alpha 1. With S x + t the module: S and t for ADD and CONVEX, 1 + S and t for RESIDUAL, 1 + g (S - 1) and g t for
// CHANNEL. The module is run on the unit vectors, so it is what it does, not what it is meant to do. The seed must be
// linear.
SlotMap slot_map(const Seed& seed);

// A linear layer's parameters as they are in its module: weight [out, C] or [out, C, kernel, kernel] (stride 1, one
// group, padded with zeros), bias [out] or undefined.
struct LinearLayer {
  torch::Tensor weight, bias;
};
// The layer that has the same effect on h as `layer` has on the map's output: W M, b + W t. New tensors, of the layer's
// types.
LinearLayer folded(const LinearLayer& layer, const SlotMap& map);
// What the optimizer's moments of the layer become. With y = W (M h + t) + b, W' = W M and G' = dL/dW', the chain rule
// says dL/dW = G' M^T + (dL/db) t^T; so from the gradients of W and b
//   G' = (dL/dW - (dL/db) t^T) M^-T,   dL/db' = dL/db,
// exact for any sum of the loss's gradients, such as a first moment, as long as M and t were what they are. SGD's
// weight decay adds weight_decay * W to them before its momentum, and that share is not a gradient: (sum of W) M^-T
// stands where (sum of W) M should. It fades with the momentum, and AdamW has no such share. A second moment is a sum
// of squares and becomes that of gradients whose channels are not correlated: v' = v (M^-T)^2 element by element, but
// at least (m' / r)^2, r the layer's largest |m| / sqrt(v): no step gets larger than the layer's largest was.
struct LayerMoments {
  torch::Tensor weight, bias;   // first moments, of the layer's shapes; bias if it has one
  torch::Tensor weight_square;  // second moment, if kept
};
// Empty if M is so nearly singular (> kMostEnlarged) that its inverse would give rounding errors or values of an
// outdated M; or so large (> kMostInverted) that its inverse, O(C^3) in float64, would delay training: on one CPU core
// about 50 ms for 512 channels, 2 s for 2048. Reads the device.
std::optional<LayerMoments> folded_moments(const LayerMoments& moments, const SlotMap& map);
inline constexpr double kMostEnlarged = 100;        // |M^-1| / sqrt(C), Frobenius norm; 1 where M is a rotation
inline constexpr std::int64_t kMostInverted = 512;  // C
// The moments used where folded_moments() is empty. The first moment of the weight is zero. The second is r^2
// everywhere: r is the root of the layer's largest, over |M| / sqrt(C) where that is below 1 (and at least 1 /
// kMostEnlarged), since G' is larger than G by that factor. In the directions that M suppresses, W's own second moment
// is near zero, which carries no information about G', and Adam would step up to 7 lr. With r it steps at most lr *
// beta2^(-k/2) after k steps, while no gradient of the new weight is larger than r. Never reads the device.
LayerMoments fresh_moments(const LayerMoments& moments, const SlotMap& map);

// Fails with the reason if it cannot be: an offset needs a bias to go to, and does not reach a convolution's padding.
// Reads the device.
base::Expected<void> check_foldable(const LinearLayer& layer, const SlotMap& map);

}  // namespace esper::kasmina
