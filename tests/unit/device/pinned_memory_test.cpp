#include "device/pinned_memory.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "support/faults/armed_fault.h"

namespace esper::test::pinned_memory_test {

TEST_CASE("what was refused once is not asked for again, and the tensors are as asked for") {
  device::PinnedMemory memory;
  CHECK(memory.refusal().empty());
  const ArmedFault refused("device.pinned_memory");
  for (int i = 0; i < 2; ++i) {
    const at::Tensor tensor = memory.empty({2, 3}, at::kDouble);
    CHECK(tensor.sizes() == std::vector<std::int64_t>{2, 3});
    CHECK(tensor.scalar_type() == at::kDouble);
    CHECK(tensor.is_cpu());
    CHECK(memory.refusal() == "fault point device.pinned_memory");
    CHECK(base::fault::hits("device.pinned_memory") == 1);
  }
}

}  // namespace esper::test::pinned_memory_test
