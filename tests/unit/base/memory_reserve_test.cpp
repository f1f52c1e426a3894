#include "base/memory_reserve.h"

#include <catch2/catch_test_macros.hpp>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "support/faults/failing_new.h"

namespace esper::test::memory_reserve_test {

namespace {

// Its destructor allocates a list for each level.
nlohmann::json document() {
  nlohmann::json rows = nlohmann::json::array();
  for (int row = 0; row < 8; ++row)
    rows.push_back({{"name", "a name that is not short"}, {"values", {1, row, {2, 3}}}});
  return {{"rows", rows}, {"count", rows.size()}};
}

// Whether so many bytes cannot be had where there is no memory but the reserve.
bool lacks(std::size_t bytes) {
  const MemoryEnds lack(1);
  try {
    std::vector<char> memory(bytes);
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

// Leaves what is for allocations during unwinding.
void use_up_reserve() {
  bool is_used_up = false;
  for (int blocks = 0; blocks < 1000 && !is_used_up; ++blocks) is_used_up = lacks(base::kReserveBlock);
  REQUIRE(is_used_up);
}

}  // namespace

// Without a reserve the first of these ends the test program.
TEST_CASE("wherever memory runs out while a document is written, the process goes on") {
  bool has_come = true;
  std::int64_t nth = 1;
  for (; has_come && nth < 100'000; ++nth) {
    base::hold_memory_reserve();
    const MemoryEnds lack(nth);
    try {
      document().dump();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    }
    has_come = lack.has_come();
  }
  CHECK_FALSE(has_come);
  CHECK(nth > 100);
}

TEST_CASE("a document is destroyed by an exception where nothing but the last of the reserve is left") {
  base::hold_memory_reserve();
  use_up_reserve();
  bool thrown = false;
  std::optional<MemoryEnds> lack;
  try {
    const auto made = document();
    lack.emplace(1);
    throw 1;
  } catch (int) {
    thrown = true;
  }
  lack.reset();
  CHECK(thrown);
}

TEST_CASE("the reserve meets a lack of little, one of much throws, and it can be taken again") {
  base::hold_memory_reserve();
  CHECK_FALSE(lacks(100));
  use_up_reserve();
  CHECK(lacks(100));
  base::hold_memory_reserve();
  CHECK_FALSE(lacks(100));
  CHECK(lacks(base::kReserveBlock * base::kReserveBlocks));
}

}  // namespace esper::test::memory_reserve_test
