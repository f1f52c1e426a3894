// Which recipes compete for which step.
#include <catch2/catch_test_macros.hpp>

#include "integration/lanes/lane_room.h"
#include "program/cache/cache_key.h"

namespace esper::test::recipes_test {

using namespace esper;
using namespace esper::tests;

TEST_CASE("recipes compete only where they were measured to win") {
  const LaneRoom room;
  auto& compile_service = room.compile_service();
  const auto recipes = [&](const LaneCase& c) {
    auto model = make_model(c);
    return compile_service.recipes(program_of(*model, make_batches(c, 1)));
  };
  using Names = std::vector<std::string>;
  const bool has_tiles = program::cpu_instruction_set().find("amx_bf16") != std::string::npos;
  const auto cases = lane_cases();
  CHECK(recipes(cases[0]) == Names{"loops", "default"});
  CHECK(recipes(cases[1]) == Names{"default"});
  CHECK(recipes(cases[2]) == Names{"turned", "default"});
  CHECK(recipes(cases[3]) == (has_tiles ? Names{"default"} : Names{"single_turned", "single"}));
  CHECK(recipes(cases[4]) == Names{"aten_pool"});
  CHECK(recipes(cases[5]) == Names{"default"});
  CHECK(recipes(cases[6]) == (has_tiles ? Names{"default"} : Names{"single", "default"}));
}

}  // namespace esper::test::recipes_test
