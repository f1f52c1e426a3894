#include "device/out_of_memory.h"

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace esper::test::out_of_memory_test {

using esper::device::out_of_memory_message;

TEST_CASE("a lack of memory is told from other failures, in one line") {
  CHECK(out_of_memory_message(std::bad_alloc()) == "out of memory");
  CHECK(out_of_memory_message(std::runtime_error("sizes differ")).empty());
  CHECK(out_of_memory_message(std::runtime_error("could not create a primitive descriptor for the convolution forward "
                                                 "propagation primitive"))
            .empty());
  CHECK(out_of_memory_message(std::system_error(ENOENT, std::generic_category())).empty());
  try {
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2 GiB\nmore");
    FAIL("not thrown");
  } catch (const std::exception& error) {
    CHECK(out_of_memory_message(error) == "out of memory: CUDA out of memory. Tried to allocate 2 GiB");
  }
  try {
    TORCH_CHECK(false, "sizes differ");
    FAIL("not thrown");
  } catch (const std::exception& error) {
    CHECK(out_of_memory_message(error).empty());
  }
}

TEST_CASE("a lack of memory counts in the words of PyTorch and of the libraries below it, whatever is thrown") {
  const auto text = GENERATE(
      as<std::string>(),
      "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
      "8 bytes. Error code 12 (Cannot allocate memory)",
      "[enforce fail at alloc_cpu.cpp:90] . DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes.",
      "DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes. Buy new RAM!",
      "CUDA error: out of memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)",
      "cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
      "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "could not create a primitive",
      "std::bad_alloc");
  CHECK(out_of_memory_message(std::runtime_error(text)) == "out of memory: " + text);
  try {
    TORCH_CHECK(false, text);
    FAIL("not thrown");
  } catch (const std::exception& error) {
    CHECK(out_of_memory_message(error) == "out of memory: " + text);
  }
}

TEST_CASE("a system that is out of memory, or cannot start a thread, counts") {
  for (const int number : {ENOMEM, EAGAIN}) {
    CHECK(out_of_memory_message(std::system_error(number, std::generic_category())).starts_with("out of memory: "));
  }
}

#if !defined(__SANITIZE_ADDRESS__)  // whose own allocator ends the process
TEST_CASE("what PyTorch throws for an impossible allocation counts") {
  try {
    at::empty({std::int64_t{1} << 55}, torch::kFloat32);
    FAIL("there was that much memory");
  } catch (const std::exception& error) {
    CHECK(out_of_memory_message(error).starts_with("out of memory: "));
  }
}
#endif

}  // namespace esper::test::out_of_memory_test
