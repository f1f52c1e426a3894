#pragma once
// Seeds that widen the host's block before their slot: further units of its hidden layer (Chen, Goodfellow and Shlens
// 2016, "Net2Net"). With u the layer's units, c those that were copied, W their columns in the next layer's weight, n
// the new units and V their columns, W and V matrices:
//
//   while it grows          W u + alpha V (n - c)   the host's weights are untouched, so it can be blended and removed
//   from FOSSILIZED on      (W - V on c) u + V n    the plain layer with more units; at alpha 1 the same function
//
// A new unit is born equal to its original, so n - c is zero and the function is preserved at every alpha. V is born as
// a share of the original's column, drawn for each element around 1/2: with equal shares original and copy would have
// proportional gradients, and an optimizer that divides by their size could never make them differ.
// Units are those in front, since a layer's units are alike in distribution. growth.composition does not apply, and
// such a seed trains blended in any run: it has nothing to hide from. Training thread.

#include <vector>

#include "kasmina/seed/seed.h"
#include "kasmina/tensor/parameter_group.h"

namespace esper::kasmina {

bool is_widening(const Seed& seed);

// The copied parameters of a widening at that site; V as zeroed, as the gradient of V is zero at birth.
std::vector<ParameterCopy> copies_of_units(const Seed& seed, const SlotSite& site);
// Writes the host's values into a new widening: its units' tensors, buffers included, and V.
void copy_units(const Seed& seed, const SlotSite& site, const TensorTable& host);

// The weight W - V of a widening that becomes part of the host. Without gradients.
torch::Tensor parted_weight(const torch::Tensor& host_weight, const torch::Tensor& further_columns);

// What leaves a slot with that seed, a widening or another one.
SlotOutput pass_seed(const Seed& seed, const BlockOutput& from, Mode mode);
SlotOutput pass_seed(const Seed& seed, const BlockOutput& from, const AlphaBranches& branches);
// As tap_seed(), `output` being what goes on. Of a widening of a block whose next layer is the next block's, the tap's
// output and change are the further units.
SlotTap tap_pass(const Seed& seed, const BlockOutput& from, Mode mode, SlotOutput& output);

}  // namespace esper::kasmina
