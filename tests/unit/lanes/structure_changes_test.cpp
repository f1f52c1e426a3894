#include "lanes/structure_changes.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "support/models/growing_prepared.h"

namespace esper::test::structure_changes_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using leyline::SeedOperation;

namespace {

// Of the changes that were measured, in order.
std::vector<std::string> swapped(const GrowingPrepared& grown, const std::string& attribute) {
  std::vector<std::string> values;
  for (const auto& event : grown.events) {
    if (event.description == "tolaria.growth_swapped") values.push_back(event.attributes.at(attribute));
  }
  return values;
}

void step_watched(GrowingPrepared& grown, int count) {
  for (int i = 0; i < count; ++i) {
    grown.steps(1);
    grown.runner->structure_changes().watch().record_step_time(std::chrono::milliseconds(2));
  }
}

}  // namespace

TEST_CASE("a network without steps so far, or that is as it was, has no change of structure") {
  at::set_num_threads(1);
  GrowingPrepared grown(Lane::kReplay);
  auto& changes = grown.runner->structure_changes();
  grown.change(grown.germination("r0c1", "mlp"));
  CHECK_FALSE(changes.watch().is_on());
  grown.steps(6);
  changes.take_structure(grown.number);
  CHECK_FALSE(changes.watch().is_on());
  const auto replayed = grown.steps_in(Lane::kReplay);
  grown.steps(1);
  CHECK(grown.steps_in(Lane::kReplay) == replayed + 1);
}

TEST_CASE("nothing is prepared for a network that has changed until its steps have") {
  at::set_num_threads(1);
  GrowingPrepared grown(Lane::kReplay);
  grown.prepare({germinates("r0c0", "mlp")});  // no step is known
  grown.steps(6);
  grown.apply(grown.germination("r0c1", "mlp"));
  grown.prepare({germinates("r0c0", "mlp")});  // the steps are those of the network before
  CHECK(grown.scratch_models_made == 0);
  grown.runner->structure_changes().take_structure(grown.number);
  grown.steps(1);
  grown.prepare({germinates("r0c0", "mlp")});
  CHECK(grown.scratch_models_made > 0);
  CHECK(grown.count_events("tolaria.growth_unprepared") == 0);
}

TEST_CASE("a further change ends the measurement of the one before, and a change without steps is not measured") {
  at::set_num_threads(1);
  GrowingPrepared grown(Lane::kReplay);
  auto& watch = grown.runner->structure_changes().watch();
  grown.steps(6);
  grown.change(grown.germination("r0c1", "mlp"));
  REQUIRE(watch.is_on());
  step_watched(grown, 3);
  grown.change(grown.command(SeedOperation::kCull, "seed-0001"));
  CHECK(swapped(grown, "step") == std::vector<std::string>{"6"});
  CHECK(swapped(grown, "prepared") == std::vector<std::string>{"false"});
  CHECK(grown.runner->figures().swaps == 1);
  CHECK(watch.is_on());
  watch.end();
  CHECK_FALSE(watch.is_on());
  CHECK(grown.runner->figures().swaps == 1);
}

TEST_CASE("what was known of a structure when it was left is installed when it comes back") {
  at::set_num_threads(1);
  GrowingPrepared grown(Lane::kReplay);
  grown.steps(6);
  grown.change(grown.germination("r0c1", "mlp"));
  step_watched(grown, 6);
  const auto eager = grown.steps_in(Lane::kEager);
  grown.change(grown.command(SeedOperation::kCull, "seed-0001"));
  step_watched(grown, 3);
  grown.runner->structure_changes().watch().end();
  CHECK(grown.steps_in(Lane::kEager) == eager);
  CHECK(swapped(grown, "step") == std::vector<std::string>{"6", "12"});
  CHECK(swapped(grown, "prepared") == std::vector<std::string>{"false", "true"});
  CHECK(swapped(grown, "lane") == std::vector<std::string>{"replay", "replay"});
}

TEST_CASE("a run that is in eager still starts a structure in eager, though its steps are prepared") {
  at::set_num_threads(1);
  GrowingPrepared grown(Lane::kReplay);
  grown.steps(1);  // the warm-up
  grown.prepare({germinates("r0c1", "mlp")});
  REQUIRE(grown.count_events("tolaria.growth_prepared") == 1);
  grown.change(grown.germination("r0c1", "mlp"));
  step_watched(grown, 1);
  CHECK(grown.steps_in(Lane::kEager) == 2);
  CHECK(grown.steps_in(Lane::kReplay) == 0);
  grown.runner->structure_changes().watch().end();
  CHECK(swapped(grown, "prepared") == std::vector<std::string>{"false"});
}

TEST_CASE("a run resumed right before a structure change does not repeat the old structure's bits in the new one") {
  at::set_num_threads(1);
  GrowingPrepared grown(Lane::kReplay);
  grown.steps(6);
  const std::string shape = nlohmann::json::parse(grown.records.front()).at("shape");
  lanes::LaneLog log;
  log.add(shape, {.step = 3, .key = std::string(32, 'a')});
  grown.records.clear();
  grown.follow(std::move(log));
  SECTION("before any step") { grown.change(grown.germination("r0c1", "mlp")); }
  SECTION("after a step of another shape") {
    grown.step_of(3);
    grown.change(grown.germination("r0c1", "mlp"));
  }
  const auto recorded = lanes::lane_record_json(shape, {.step = grown.number});
  CHECK(std::ranges::count(grown.records, recorded) == 1);
  grown.steps(3);
  CHECK(grown.count_events("tolaria.lane_refused") == 0);
}

TEST_CASE("where nothing is prepared ahead, a change of structure is neither followed nor measured") {
  at::set_num_threads(1);
  GrowingModel grown(growing_case(), Lane::kReplay);  // its runner has no scratch models
  auto& changes = grown.runner->structure_changes();
  grown.steps(6);
  grown.apply(grown.germination("r0c1", "mlp"));
  changes.prepare(std::vector{germinates("r0c0", "mlp")}, 1000);
  changes.take_structure(grown.number);
  CHECK_FALSE(changes.watch().is_on());
  const auto eager = grown.runner->figures().steps_in(Lane::kEager);
  grown.steps(1);
  CHECK(grown.runner->figures().steps_in(Lane::kEager) == eager + 1);
}

}  // namespace esper::test::structure_changes_test
