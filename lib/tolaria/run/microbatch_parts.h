#pragma once
// A step's samples in smaller microbatches, where the whole ones do not fit into memory. Any thread.

#include <cstdint>
#include <vector>

#include "step/train_step.h"

namespace esper::tolaria {

// Each microbatch in `parts`, or in single samples if it has fewer; the same ones for 1. The step's loss is the mean
// over all samples, whatever the sizes, and the parts of a microbatch are marked as such. A part is a copy unless it
// begins at a multiple of kCudaAlignment of its storage, as the buffers of a graph do: the addresses decide which
// kernels cuBLASLt chooses, and so whether eager has the graph's bits.
std::vector<step::Microbatch> in_parts(const std::vector<step::Microbatch>& microbatches, std::int64_t parts);

}  // namespace esper::tolaria
