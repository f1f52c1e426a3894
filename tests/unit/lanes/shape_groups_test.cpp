#include "lanes/shape/shape_groups.h"

#include <catch2/catch_test_macros.hpp>

#include "unit/lanes/lane_parts.h"

namespace esper::test::shape_groups_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using lanes::ShapeGroup;
using lanes::StateId;
using lanes::StepShape;

namespace {

constexpr char kWrong[] = "wrong", kGood[] = "good";
const lanes::Variant kQuickly{"loops", program::CompileEffort::kQuick, kGood};

lanes::Lane compiled(const std::string& key) {
  return {Lane::kCompiled, [](std::span<const step::Microbatch>) {}, {nullptr, key, 1}};
}

// The shapes of one network, and a group whose leader has batches of eight samples.
struct Grouped : LaneParts {
  lanes::ShapeSet shapes;
  lanes::ShapeGroups groups{context, shapes};
  StepShape& leader = add(8);
  ShapeGroup& group = shapes.add_group({*leader.program, &leader, 8});

  Grouped() { leader.group = &group; }

  std::vector<step::Microbatch> batch(std::int64_t samples) {
    c.batch = samples;
    return make_batches(c, 1);
  }
  // The same program for every size, as an exact instance of the group's has to be.
  StepShape& add(std::int64_t samples) {
    StepShape& shape = shapes.add(0, batch(samples));
    shape.program.emplace();
    shape.state = lanes::Searching{};
    return shape;
  }
  StepShape& add_member(std::int64_t samples) {
    StepShape& shape = add(samples);
    groups.join(shape, batch(samples));
    REQUIRE(shape.group == &group);
    return shape;
  }
};

}  // namespace

TEST_CASE("the largest batch leads its group while no program of it is compiled") {
  Grouped it;
  it.leader.search.wanted.push_back(kQuickly);
  it.leader.search.undecided = true;
  it.leader.state = lanes::Settled{};
  const StepShape& smaller = it.add_member(2);
  CHECK(it.group.leader == &it.leader);
  CHECK(smaller.is_member());

  StepShape& larger = it.add_member(16);
  CHECK(it.group.leader == &larger);
  CHECK(it.group.leader_size == 16);
  CHECK(it.leader.is_member());
  CHECK(it.leader.search.wanted.empty());
  CHECK_FALSE(it.leader.search.undecided);
  CHECK(it.leader.is(StateId::kSearching));  // it may take the new leader's

  larger.search.compiling = kQuickly;
  CHECK(it.add_member(32).is_member());
  larger.search.compiling.reset();
  larger.incumbent = compiled(kGood);
  CHECK(it.add_member(64).is_member());
  larger.incumbent.reset();
  larger.state = lanes::Checking{compiled(kGood)};
  CHECK(it.add_member(128).is_member());
  CHECK(it.group.leader == &larger);
}

TEST_CASE("a shape joins no group of another program, and one with uneven microbatches stays alone") {
  Grouped it;
  StepShape& uneven = it.add(5);
  uneven.program->operations.emplace_back();
  auto microbatches = it.batch(5);
  for (auto& one : it.batch(3)) microbatches.push_back(one);
  it.groups.join(uneven, microbatches);
  CHECK(uneven.group == nullptr);
  REQUIRE(it.events.size() == 1);
  CHECK(it.events[0].attributes.at("reason") ==
        "no program for all batch sizes, each has its own: its microbatches have different numbers of samples");

  it.shapes.each_size_alone = true;
  StepShape& alone = it.add(6);
  it.groups.join(alone, it.batch(6));
  CHECK(alone.group == nullptr);
}

TEST_CASE("a program that is wrong in one shape is dropped in each shape of its group, and in no other") {
  Grouped it;
  StepShape &tried = it.add_member(2), &trialled = it.add_member(3), &rechecked = it.add_member(5);
  StepShape &good = it.add_member(6), &alone = it.add(7);
  it.leader.incumbent = compiled(kWrong);
  it.leader.state = lanes::Settled{};
  tried.state = lanes::Checking{compiled(kWrong)};
  trialled.state = lanes::Trialling{compiled(kWrong)};
  rechecked.incumbent = compiled(kWrong);
  rechecked.state = lanes::Rechecking{};
  good.incumbent = compiled(kGood);
  good.state = lanes::Settled{};
  alone.state = lanes::Checking{compiled(kWrong)};
  for (const auto& shape : it.shapes.shapes()) shape->search.tried_uncompiled = true;

  it.groups.withdraw(tried, kWrong);
  for (const StepShape* shape : {&it.leader, &tried, &trialled, &rechecked}) {
    CAPTURE(shape->name);
    CHECK(shape->is(StateId::kSearching));
    CHECK_FALSE(shape->incumbent);
    CHECK_FALSE(shape->search.tried_uncompiled);  // another lane may be the best now
  }
  CHECK(good.is(StateId::kSettled));
  CHECK(good.runs_compiled());
  CHECK(good.search.tried_uncompiled);
  CHECK(alone.is(StateId::kChecking));

  it.groups.withdraw(alone, kWrong);
  CHECK(alone.is(StateId::kChecking));  // it has no group
}

TEST_CASE("members try the program of their leader once it has one, and once only") {
  Grouped it;
  StepShape &waits = it.add_member(2), &took = it.add_member(3);
  took.search.took_shared = true;
  for (const auto& shape : it.shapes.shapes()) shape->state = lanes::Settled{};

  it.groups.offer_to_members(it.leader);  // it runs no compiled program
  CHECK(waits.is(StateId::kSettled));
  waits.incumbent = compiled(kGood);
  it.groups.offer_to_members(waits);  // it leads nobody
  CHECK(it.leader.is(StateId::kSettled));
  waits.incumbent.reset();

  it.leader.incumbent = compiled(kGood);
  it.groups.offer_to_members(it.leader);
  CHECK(waits.is(StateId::kSearching));
  CHECK(took.is(StateId::kSettled));
  CHECK(it.leader.is(StateId::kSettled));
}

TEST_CASE("where a group's program cannot be compiled, its shapes search again, each for itself") {
  Grouped it;
  StepShape& member = it.add_member(2);
  StepShape& other = it.add(3);
  ShapeGroup& others = it.shapes.add_group({{}, &other, 3});
  other.group = &others;
  for (const auto& shape : it.shapes.shapes()) {
    shape->state = lanes::Settled{};
    shape->search.begun = true;
    shape->search.in_full = {"loops"};
    shape->search.recipe_us = {{"loops", 9.0}};
  }
  it.groups.dissolve(it.group, "it has no dynamic shapes");
  for (const StepShape* shape : {&it.leader, &member}) {
    CHECK(shape->group == nullptr);
    CHECK_FALSE(shape->search.begun);
    CHECK(shape->search.in_full.empty());
    CHECK(shape->search.recipe_us.empty());
    CHECK(shape->is(StateId::kSearching));
  }
  CHECK(it.shapes.each_size_alone);
  CHECK(other.group == &others);
  CHECK(other.search.begun);
  CHECK(other.is(StateId::kSettled));
  REQUIRE(it.events.size() == 1);
  CHECK(it.events[0].attributes.at("reason").ends_with("it has no dynamic shapes"));
}

}  // namespace esper::test::shape_groups_test
