#include "lanes/shape/recipe_search.h"

#include <catch2/catch_test_macros.hpp>

#include "lanes/shape/compile_cost.h"
#include "unit/lanes/compiling_step.h"

namespace esper::test::recipe_search_test {

using namespace esper;
using namespace esper::tests;
using lanes::compile_next;
using lanes::decide_on_compiling;
using lanes::list_variants;
using program::CompileEffort;
using program::EntryFault;

namespace {

using Names = std::vector<std::string>;

constexpr double kSecondUs = 1e6;

// A shape whose step is recorded, with the recipes that may suit it.
struct SearchedShape : CompilingStep {
  SearchedShape() {
    shape.program = recorded;
    REQUIRE(recipes.size() == 2);
  }

  Names wanted() const {
    Names names;
    for (const auto& one : shape.search.wanted) names.push_back(one.recipe);
    return names;
  }
  // What is compiled is done, and the next one is due.
  void next() {
    if (shape.search.compiling) queue.give_up(shape.search.compiling->key);
    shape.search.compiling.reset();
    compile_next(context, queue, shape);
  }
  std::string compiling() const { return shape.search.compiling ? shape.search.compiling->recipe : ""; }

  lanes::StepShape shape;
  Names recipes = service.recipes(recorded);
};

}  // namespace

TEST_CASE("the recipes that suit a program are compiled quickly, one after another, in their order") {
  SearchedShape it;
  CHECK(list_variants(it.context, it.shape).empty());
  CHECK(it.wanted() == it.recipes);
  for (const auto& recipe : it.recipes) {
    it.next();
    REQUIRE(it.compiling() == recipe);
    CHECK(it.shape.search.compiling->effort == CompileEffort::kQuick);
    CHECK(it.shape.search.compiling->key == it.service.key(it.recorded, recipe));
    CHECK(it.figures.pending == 1);
  }
  it.next();  // none of them came to a trial
  CHECK(it.compiling().empty());
  CHECK(it.reported("tolaria.compile_started", "key").size() == 2);
}

TEST_CASE("a recipe whose results were wrong is not wanted, and why; one whose package was damaged is") {
  SearchedShape it;
  const std::string first = it.service.key(it.recorded, it.recipes[0]);
  it.service.cache().quarantine(first, EntryFault::kDamaged, "it was cut off");
  CHECK(list_variants(it.context, it.shape).empty());
  CHECK(it.wanted() == it.recipes);

  it.shape.search.wanted.clear();
  it.service.cache().quarantine(first, EntryFault::kWrong, "it differs from eager");
  CHECK(list_variants(it.context, it.shape) == "it differs from eager");
  CHECK(it.wanted() == Names{it.recipes[1]});
}

TEST_CASE("where kernels are chosen by timing, a program is compiled once, with full effort") {
  SearchedShape it;
  it.config.compile.mode = config::CompileMode::kMaxAutotune;
  list_variants(it.context, it.shape);
  REQUIRE(it.wanted() == it.recipes);
  for (const auto& variant : it.shape.search.wanted) CHECK(variant.effort == CompileEffort::kFull);

  it.shape.search.wanted.clear();
  it.shape.search.recipe_us = {{it.recipes[0], 9}};
  it.shape.search.in_full = {it.recipes[0]};
  it.next();
  CHECK(it.compiling().empty());
}

TEST_CASE("the fastest of the recipes that were measured is remembered, and compiled with full effort once") {
  SearchedShape it;
  it.shape.search.recipe_us = {{it.recipes[0], 12}, {it.recipes[1], 9}};
  it.next();
  REQUIRE(it.compiling() == it.recipes[1]);
  CHECK(it.shape.search.compiling->effort == CompileEffort::kFull);
  CHECK(it.service.recipes(it.recorded) == Names{it.recipes[1]});
  it.next();
  CHECK(it.compiling().empty());
}

TEST_CASE("a recipe that was compared with none is compiled with full effort, and not remembered as the fastest") {
  SearchedShape it;
  it.shape.search.recipe_us = {{it.recipes[1], 9}};
  it.next();
  CHECK(it.compiling() == it.recipes[1]);
  CHECK(it.service.recipes(it.recorded) == it.recipes);
}

TEST_CASE("the fastest recipe is neither remembered nor compiled again once its results were found to be wrong") {
  SearchedShape it;
  it.shape.search.recipe_us = {{it.recipes[0], 12}, {it.recipes[1], 9}};
  it.service.cache().quarantine(it.service.key(it.recorded, it.recipes[1]), EntryFault::kWrong, "it differs");
  SECTION("the next one is compiled") {
    it.next();
    CHECK(it.compiling() == it.recipes[0]);
    CHECK(it.service.recipes(it.recorded) == it.recipes);
  }
  SECTION("none is, where no other was measured") {
    it.shape.search.recipe_us.erase(it.recipes[0]);
    it.next();
    CHECK(it.compiling().empty());
  }
}

TEST_CASE("a program is compiled if the steps that are left pay for it") {
  SearchedShape it;
  list_variants(it.context, it.shape);
  it.shape.search.undecided = true;
  SECTION("they do") {
    decide_on_compiling(it.context, it.queue, it.shape, kSecondUs, 1000);
    CHECK(it.compiling() == it.recipes[0]);
    CHECK(it.wanted() == Names{it.recipes[1]});
    CHECK(it.shape.search.wants_full);
    const auto reasons = it.reported("tolaria.lane_chosen", "reason");
    REQUIRE(reasons.size() == 1);
    CHECK(reasons[0].starts_with("prepared: about 1000 s of steps are left"));
  }
  SECTION("they do not, and no later measurement has it compiled") {
    decide_on_compiling(it.context, it.queue, it.shape, kSecondUs, 1);
    CHECK(it.compiling().empty());
    CHECK(it.wanted().empty());
    CHECK(it.figures.pending == 0);
    const auto reasons = it.reported("tolaria.lane_chosen", "reason");
    REQUIRE(reasons.size() == 1);
    CHECK(reasons[0].starts_with("skipped: about 1 s of steps are left"));
    it.shape.search.recipe_us = {{it.recipes[0], 9}};
    it.next();
    CHECK(it.compiling().empty());
  }
  CHECK_FALSE(it.shape.search.undecided);
}

TEST_CASE("what a compilation costs grows with the program, and three tenths of the time left must exceed it") {
  program::Program empty, large;
  large.operations.resize(100);
  CHECK_FALSE(lanes::weigh_compiling(empty, kSecondUs, 33).pays);
  CHECK(lanes::weigh_compiling(empty, kSecondUs, 34).pays);
  CHECK_FALSE(lanes::weigh_compiling(large, kSecondUs, 43).pays);
  CHECK(lanes::weigh_compiling(large, kSecondUs, 44).pays);
  CHECK_FALSE(lanes::weigh_compiling(empty, 0, 1'000'000).pays);
}

}  // namespace esper::test::recipe_search_test
