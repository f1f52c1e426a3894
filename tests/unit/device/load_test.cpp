// The module must load on any machine: without a driver it counts no devices.
#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>

#include "base/ledger/ledger.h"
#include "device/cuda_table.h"
#include "device/profiler.h"
#include "device/rng.h"

namespace esper::device::load_test {
namespace {

TEST_CASE("the CUDA module loads on demand and registers CUDA with torch") {
  REQUIRE_FALSE(cuda_loaded());
  CHECK(&cuda() == &unavailable_cuda_table());
  const auto& module = load_cuda();
  INFO(module.reason);
  REQUIRE(module.reason.empty());
  CHECK(cuda_loaded());
  CHECK(&cuda() == module.table);
  CHECK(&load_cuda() == &module);
  CHECK(at::hasCUDA() == (cuda().device_count() > 0));
  CHECK(at::detail::getCUDAHooks().hasCUDART());
  CHECK_THROWS_AS(cuda().facts(cuda().device_count()), c10::Error);
  CHECK_THROWS_AS(cuda().facts(-1), c10::Error);
  CHECK_NOTHROW(seed_all(3));
}

TEST_CASE("ranges for a profiler follow the ledger, with or without one") {
  REQUIRE(load_cuda().reason.empty());
  base::Ledger ledger;
  ledger.watch().set_hooks(nvtx_ranges());
  for (const auto& [owner, name] : names(base::Owner{})) {
    CHECK(names(owner)[index_of(owner)].second == std::string_view(name));  // what the hook looks up
    const base::LedgerScope outer(ledger, owner);
    const base::LedgerScope inner(ledger, base::Owner::kTransfer);
  }
  CHECK(ledger.owner() == base::Owner::kStartUp);
}

TEST_CASE("without a card a graph is refused and nothing is left behind") {
  REQUIRE(load_cuda().reason.empty());
  if (cuda().device_count() > 0) SKIP("this machine has a GPU");
  CHECK_THROWS_AS(cuda().graph_create(0, {}), c10::Error);
  CHECK_NOTHROW(cuda().set_host_waits(HostWaits::kRefused));
  CHECK_NOTHROW(cuda().set_host_waits(HostWaits::kAllowed));
}

}  // namespace
}  // namespace esper::device::load_test
