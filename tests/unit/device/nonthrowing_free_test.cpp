#include "device/nonthrowing_free.h"

#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace esper::test::nonthrowing_free_test {

using device::make_free_nonthrowing;
using device::MemoryOf;

namespace {

struct Memory {
  std::array<float, 2> values{};
  int frees = 0;
};

// As torch's allocators do where the event cannot be recorded.
void free_on_lost_card(void* context) {
  ++static_cast<Memory*>(context)->frees;
  TORCH_CHECK(false, "CUDA error: an illegal memory access was encountered");
}

void free_elsewhere(void* context) { ++static_cast<Memory*>(context)->frees; }

at::Tensor tensor_in(Memory& memory, c10::DeleterFnPtr free) {
  at::Tensor tensor = at::empty({2});
  tensor.storage().set_data_ptr_noswap({memory.values.data(), &memory, free, c10::Device(c10::DeviceType::CPU)});
  return tensor;
}

}  // namespace

TEST_CASE("the error of a step on a lost card reaches its caller, though the step's batch cannot be freed") {
  for (const MemoryOf of : {MemoryOf::kCard, MemoryOf::kHost}) {
    Memory first, second;
    std::string reported;
    try {
      const std::vector<at::Tensor> batch{tensor_in(first, free_on_lost_card), tensor_in(second, free_on_lost_card)};
      for (const at::Tensor& tensor : batch) make_free_nonthrowing(tensor, of);
      make_free_nonthrowing(batch.front(), of);  // one that is such already
      throw std::runtime_error("the step failed");
    } catch (const std::runtime_error& error) {
      reported = error.what();
    }
    CHECK(reported == "the step failed");
    CHECK(first.frees == 1);
    CHECK(second.frees == 1);
  }
}

TEST_CASE("memory is freed with its last tensor, by its own allocator") {
  Memory known, other;
  at::Tensor tensor = tensor_in(known, free_on_lost_card), foreign = tensor_in(other, free_elsewhere);
  make_free_nonthrowing(tensor, MemoryOf::kHost);
  make_free_nonthrowing(foreign, MemoryOf::kHost);
  at::Tensor view = tensor[1];
  tensor.reset();
  CHECK(known.frees == 0);
  view.reset();
  CHECK(known.frees == 1);
  foreign.reset();
  CHECK(other.frees == 1);
  CHECK(known.frees == 1);
}

}  // namespace esper::test::nonthrowing_free_test
