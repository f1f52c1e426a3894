#pragma once
// Memory that the captures of a GPU share. Training thread.

#include <map>
#include <memory>

#include "device/cuda_table.h"

namespace esper::program {

class GraphPools {
 public:
  // Held by each capture, longer than its graph lives.
  using Lease = std::shared_ptr<const device::GraphPool>;

  explicit GraphPools(const device::CudaTable& cuda) : cuda_(cuda) {}

  // The pool of the captures that live, else a new one: torch's allocator refuses a pool that was used once and is used
  // by none (CUDACachingAllocator.cpp, create_or_incref_pool). The last lease gives the memory back.
  Lease lease(int index);

 private:
  const device::CudaTable& cuda_;
  std::map<int, std::weak_ptr<const device::GraphPool>> pools_;  // by GPU
};

}  // namespace esper::program
