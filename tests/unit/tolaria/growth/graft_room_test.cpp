#include "tolaria/growth/graft_room.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::graft_room_test {

using tolaria::kBytesPerElement;
using tolaria::kSavedBytesPerElement;
using tolaria::lack_of_disk;
using tolaria::lack_of_memory;

TEST_CASE("further parameters fit into seven eighths of the room, or are refused with the figures and the limit") {
  const base::MemoryRoom room{800 << 20, "memory.max of cgroup /a, 4096 MiB"};
  const std::int64_t most = (700 << 20) / kBytesPerElement;
  CHECK(lack_of_memory(0, room).empty());
  CHECK(lack_of_memory(most, room).empty());
  CHECK_THAT(lack_of_memory(most + 1, room),
             Catch::Matchers::ContainsSubstring("and 700 MiB can be used (memory.max of cgroup /a, 4096 MiB)"));
}

TEST_CASE("a network grows as long as a checkpoint of it fits on the disk") {
  constexpr std::uint64_t kState = 4 << 20, kRoom = 10 << 20;
  const std::int64_t most = (6 << 20) / kSavedBytesPerElement;
  CHECK(lack_of_disk(kState, most, kRoom).empty());
  CHECK_THAT(lack_of_disk(kState, most + 1, kRoom),
             Catch::Matchers::ContainsSubstring("takes about 10240 KiB, and the disk has 10240 KiB"));
}

}  // namespace esper::test::graft_room_test
