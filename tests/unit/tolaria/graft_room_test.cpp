#include "tolaria/growth/graft_memory.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::graft_memory_test {

using tolaria::kBytesPerElement;
using tolaria::lack_of_memory;

TEST_CASE("further parameters fit into seven eighths of the room, or are refused with the figures and the limit") {
  const base::MemoryRoom room{800 << 20, "memory.max of cgroup /a, 4096 MiB"};
  const std::int64_t most = (700 << 20) / kBytesPerElement;
  CHECK(lack_of_memory(0, room).empty());
  CHECK(lack_of_memory(most, room).empty());
  CHECK_THAT(lack_of_memory(most + 1, room),
             Catch::Matchers::ContainsSubstring("and 700 MiB can be used (memory.max of cgroup /a, 4096 MiB)"));
}

}  // namespace esper::test::graft_memory_test
