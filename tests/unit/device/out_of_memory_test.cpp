#include "device/out_of_memory.h"

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <new>
#include <stdexcept>

using esper::device::lack_of_memory;

TEST_CASE("a lack of memory is told from other failures, in one line") {
  CHECK(lack_of_memory(std::bad_alloc()) == "out of memory");
  CHECK(lack_of_memory(std::runtime_error("can't allocate memory")).empty());
  try {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2 GiB\nmore");
    FAIL("not thrown");
  } catch (const std::exception& error) {
    CHECK(lack_of_memory(error) == "out of memory: CUDA out of memory. Tried to allocate 2 GiB");
  }
  try {
    TORCH_CHECK(false, "sizes differ");
    FAIL("not thrown");
  } catch (const std::exception& error) {
    CHECK(lack_of_memory(error).empty());
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // whose own allocator ends the process
TEST_CASE("what PyTorch throws for an impossible allocation counts") {
  try {
    at::empty({std::int64_t{1} << 55}, torch::kFloat32);
    FAIL("there was that much memory");
  } catch (const std::exception& error) {
    CHECK(lack_of_memory(error).starts_with("out of memory: "));
  }
}
#endif
