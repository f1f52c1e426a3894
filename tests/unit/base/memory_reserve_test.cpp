#include "base/memory_reserve.h"

#include <catch2/catch_test_macros.hpp>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/failing_new.h"

namespace esper::test::memory_reserve_test {

namespace {

// Its destructor allocates a list for each level.
nlohmann::json document() {
  nlohmann::json rows = nlohmann::json::array();
  for (int row = 0; row < 8; ++row)
    rows.push_back({{"name", "a name that is not short"}, {"values", {1, row, {2, 3}}}});
  return {{"rows", rows}, {"count", rows.size()}};
}

}  // namespace

// Without the reserve the first of these ends the test program.
TEST_CASE("wherever memory runs out while a document is written, the process goes on") {
  const std::string whole = document().dump();
  std::int64_t allocations = 0;
  bool ended = false;
  for (std::int64_t nth = 1; !ended; ++nth) {
    base::hold_memory_reserve();
    const MemoryEnds lack(nth);
    try {
      const auto made = document();
      ended = made.dump() == whole;
    } catch (const std::bad_alloc&) {
    }
    ended = ended && !lack.has_come();
    allocations = nth;
  }
  CHECK(allocations > 100);
}

TEST_CASE("the reserve meets one lack; the next one throws, until it is taken up again") {
  const auto lacks = [](std::size_t bytes) {
    const MemoryEnds lack(1);
    try {
      std::vector<char> memory(bytes);
      return false;
    } catch (const std::bad_alloc&) {
      return true;
    }
  };
  base::hold_memory_reserve();
  CHECK_FALSE(lacks(100));
  CHECK(lacks(100));
  base::hold_memory_reserve();
  CHECK_FALSE(lacks(100));
  base::hold_memory_reserve();
  CHECK(lacks(2 * base::kMemoryReserve));
}

}  // namespace esper::test::memory_reserve_test
