#include "program/graph_pools.h"

#include <catch2/catch_test_macros.hpp>
#include <map>

namespace esper::test::graph_pools_test {

using namespace esper;

namespace {

// Counts as torch's allocator does: a pool that was used and is used by nobody cannot be used again.
struct FakeAllocator {
  std::uint64_t last = 0;
  std::map<std::uint64_t, int> freed;
} g_allocator;

device::CudaTable fake_table() {
  g_allocator = {};
  device::CudaTable table = device::unavailable_cuda_table();
  table.graph_pool = [] { return device::GraphPool{0, ++g_allocator.last}; };
  table.graph_pool_free = [](int, device::GraphPool pool) { ++g_allocator.freed[pool.second]; };
  return table;
}

}  // namespace

TEST_CASE("captures that live at the same time share a pool, and after the last of them there is a new one") {
  const device::CudaTable table = fake_table();
  program::GraphPools pools(table);
  auto first = pools.lease(0), second = pools.lease(0);
  CHECK(first->second == 1);
  CHECK(second->second == 1);
  first.reset();
  CHECK(g_allocator.freed.empty());
  CHECK(pools.lease(0)->second == 1);
  second.reset();
  CHECK(g_allocator.freed[1] == 1);
  CHECK(pools.lease(0)->second == 2);
}

TEST_CASE("each card has a pool of its own") {
  const device::CudaTable table = fake_table();
  program::GraphPools pools(table);
  const auto first = pools.lease(0), second = pools.lease(1);
  CHECK(first->second != second->second);
}

TEST_CASE("a card that cannot give memory back ends no lease with an exception") {
  device::CudaTable table = fake_table();
  table.graph_pool_free = [](int, device::GraphPool) { throw std::runtime_error("an illegal access before"); };
  program::GraphPools pools(table);
  CHECK_NOTHROW(pools.lease(0).reset());
  CHECK(pools.lease(0)->second == 2);
}

}  // namespace esper::test::graph_pools_test
