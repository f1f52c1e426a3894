#pragma once
// At what addresses torch's CUDA allocator begins blocks. Plain data.

#include <cstdint>

namespace esper::device {

// In bytes (kMinBlockSize of c10/cuda/CUDACachingAllocator). cuBLASLt chooses its kernel by the alignment of its
// operands, so memory that is cut into parts here has to be cut at multiples of it to have eager's kernels.
inline constexpr std::int64_t kCudaAlignment = 512;

}  // namespace esper::device
