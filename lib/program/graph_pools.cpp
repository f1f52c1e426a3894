#include "program/graph_pools.h"

#include <exception>

namespace esper::program {

GraphPools::Lease GraphPools::lease(int index) {
  if (Lease known = pools_[index].lock()) return known;
  const auto give_back = [&cuda = cuda_, index](const device::GraphPool* pool) {
    try {
      cuda.graph_pool_free(index, *pool);
    } catch (const std::exception&) {
      // A GPU that failed has no memory to give back; what it did is reported where it was asked for.
    }
    delete pool;
  };
  Lease fresh(new device::GraphPool(cuda_.graph_pool()), give_back);
  pools_[index] = fresh;
  return fresh;
}

}  // namespace esper::program
