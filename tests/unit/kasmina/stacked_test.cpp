#include "kasmina/seed/stacked.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"

namespace esper::kasmina::stacked_test {
namespace {

using Rows = std::vector<std::vector<double>>;

// Every seed off or at its own alpha.
Rows all_of(const std::vector<double>& full) {
  Rows rows;
  for (std::size_t on = 0; on < std::size_t{1} << full.size(); ++on) {
    auto& row = rows.emplace_back();
    for (std::size_t slot = 0; slot < full.size(); ++slot) row.push_back((on >> slot & 1) != 0 ? full[slot] : 0);
  }
  return rows;
}

TEST_CASE("all combinations of four seeds double the groups at each slot") {
  const auto plan = plan_branches(all_of({0.25, 0.5, 0.75, 1}));
  REQUIRE(plan.slots.size() == 4);
  for (std::size_t slot = 0; slot < 4; ++slot) {
    REQUIRE(plan.slots[slot]);
    CHECK(plan.slots[slot]->groups_in == std::int64_t{1} << slot);
    CHECK(plan.slots[slot]->alphas.size() == std::size_t{2} << slot);
    CHECK(plan.slots[slot]->is_alike());
  }
  CHECK(plan.groups == 16);
  // The first slot parts first, so its seed is the highest bit of the group.
  CHECK(plan.group_of == std::vector<std::int64_t>{0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15});
}

TEST_CASE("groups part only where configurations differ") {
  const Rows rows = {{1, 1}, {0, 1}, {1, 0}};
  const auto plan = plan_branches(rows);
  REQUIRE(plan.slots[0]);
  CHECK(*plan.slots[0] == Branching{1, {0, 0}, {0, 1}});
  REQUIRE(plan.slots[1]);
  CHECK(*plan.slots[1] == Branching{2, {0, 1, 1}, {1, 0, 1}});
  CHECK_FALSE(plan.slots[1]->is_alike());
  CHECK(plan.group_of == std::vector<std::int64_t>{2, 0, 1});
}

TEST_CASE("a slot without active seeds is skipped, and equal configurations are one") {
  const Rows rows = {{0, 0.5}, {0, 0.5}, {0, 0.25}};
  const auto plan = plan_branches(rows);
  CHECK_FALSE(plan.slots[0]);
  REQUIRE(plan.slots[1]);
  CHECK(plan.groups == 2);
  CHECK(plan.group_of == std::vector<std::int64_t>{1, 1, 0});
  const Rows one = {{0.5}};
  CHECK(*plan_branches(one).slots[0] == Branching{1, {0}, {0.5}});
  CHECK_THROWS_AS(plan_branches({}), base::Error);
}

TEST_CASE("where groups part alike, only the alphas of one are kept") {
  const auto alike = to_device({2, {0, 0, 1, 1}, {0, 0.5, 0, 0.5}}, torch::kCPU);
  CHECK_FALSE(alike.parents.defined());
  CHECK(at::equal(alike.alphas, at::tensor({0.0F, 0.5F})));
  const auto other = to_device({2, {0, 1, 1}, {1, 0, 1}}, torch::kCPU);
  CHECK(at::equal(other.parents, at::tensor(std::vector<std::int64_t>{0, 1, 1})));
  CHECK(at::equal(other.alphas, at::tensor({1.0F, 0.0F, 1.0F})));
}

}  // namespace
}  // namespace esper::kasmina::stacked_test
