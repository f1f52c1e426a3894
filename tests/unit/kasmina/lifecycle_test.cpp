#include "kasmina/seed/lifecycle.h"

#include <catch2/catch_test_macros.hpp>
#include <set>

namespace esper::kasmina::lifecycle_test {
namespace {

using leyline::Stage;

TEST_CASE("exactly the moves of the contract are legal") {
  const std::set<std::pair<int, int>> legal = {{0, 1}, {1, 2},  {1, 11}, {2, 3},  {2, 8}, {3, 4},
                                               {3, 8}, {4, 5},  {4, 8},  {5, 6},  {5, 8}, {6, 7},
                                               {6, 8}, {7, 11}, {8, 9},  {9, 10}, {10, 1}};
  for (int from = 0; from <= 11; ++from) {
    for (int to = 0; to <= 11; ++to) {
      CAPTURE(from, to);
      const auto illegal = check_move(static_cast<Stage>(from), static_cast<Stage>(to));
      CHECK(illegal.has_value() == !legal.contains({from, to}));
    }
  }
}

TEST_CASE("an illegal move names itself and what would be legal") {
  const auto illegal = check_move(Stage::kTraining, Stage::kShadowing);
  REQUIRE(illegal);
  CHECK(illegal->text() == "TRAINING cannot become SHADOWING; from TRAINING a slot may move to BLENDING or CULLED");
  CHECK(IllegalMove{Stage::kTerminated, Stage::kDormant}.text() ==
        "TERMINATED cannot become DORMANT; nothing follows TERMINATED");
}

TEST_CASE("a slot holds a seed from GERMINATED to FOSSILIZED, on trial until PROBATIONARY") {
  CHECK_FALSE(holds_seed(Stage::kDormant));
  CHECK(holds_seed(Stage::kGerminated));
  CHECK(holds_seed(Stage::kFossilized));
  CHECK_FALSE(holds_seed(Stage::kCulled));
  CHECK(is_growing(Stage::kProbationary));
  CHECK_FALSE(is_growing(Stage::kFossilized));
  CHECK_FALSE(is_growing(Stage::kDormant));
}

}  // namespace
}  // namespace esper::kasmina::lifecycle_test
