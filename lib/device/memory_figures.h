#pragma once
// Memory of a device or of this process, in bytes. Plain data.

#include <cstdint>

namespace esper::device {

// CPU: used and peak are the resident memory of this process, reserved equals used; free is what this process may still
// allocate by every limit (base/memory_room.h), at most a quarter of a second old; total is the machine's.
// CUDA: used, peak, reserved and allocations are those of torch's caching allocator; free and total are the GPU's.
struct MemoryFigures {
  std::uint64_t used_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t allocations = 0;  // CUDA: blocks asked of the allocator so far, most of them found in its cache
};

}  // namespace esper::device
