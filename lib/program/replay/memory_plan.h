#pragma once
// Places for pieces of memory in one arena, such that pieces needed at the same time do not overlap. Any thread.

#include <cstdint>
#include <vector>

namespace esper::program {

struct Piece {
  std::int64_t bytes = 0;
  std::int32_t first = 0, last = 0;  // operations during which it is needed, both included
  std::int64_t offset = 0;           // the answer
};

// Of every offset on the host, in bytes: a cache line, which is more than any vector register. On a GPU:
// device::kCudaAlignment.
constexpr std::int64_t kHostAlignment = 64;

// Sets the offsets and returns the arena's size. Largest first, each at the lowest place that is free for its time.
std::int64_t place(std::vector<Piece>& pieces, std::int64_t alignment);

}  // namespace esper::program
