// The module must load on any machine: without a driver it counts no devices.
#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>

#include "device/cuda_table.h"
#include "device/rng.h"

namespace esper::device {
namespace {

TEST_CASE("the CUDA module loads on demand and registers CUDA with torch") {
  REQUIRE_FALSE(cuda_loaded());
  CHECK(&cuda() == &refusing_cuda_table());
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

}  // namespace
}  // namespace esper::device
