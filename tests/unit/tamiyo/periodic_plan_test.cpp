#include "tamiyo/periodic_plan.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "unit/tamiyo/slots.h"

namespace esper::tamiyo::periodic_plan_test {
namespace {

using leyline::Stage;

std::vector<Germination> germinated(PeriodicPlan& plan, std::vector<leyline::SlotState>& slots, std::uint32_t from,
                                    std::uint32_t to) {
  std::vector<Germination> list;
  for (std::uint32_t epoch = from; epoch <= to; ++epoch) {
    for (const auto& answer : plan.after({epoch - 1, epoch, slots, 1})) {
      if (answer) list.push_back(answer.value().what);
    }
  }
  return list;
}

TEST_CASE("round robin over the slots and over the blueprints of each") {
  auto slots = free_slots(3, {"a", "b"});
  slots[1].blueprints = {"c"};
  PeriodicPlan plan({.every_epochs = 4});
  CHECK(germinated(plan, slots, 1, 3).empty());
  CHECK(germinated(plan, slots, 4, 30) ==
        std::vector<Germination>{
            {"r0c0", "a"}, {"r0c1", "c"}, {"r0c2", "a"}, {"r0c0", "b"}, {"r0c1", "c"}, {"r0c2", "b"}, {"r0c0", "a"}});
}

TEST_CASE("a slot that was taken when its turn came is the next one once it is free") {
  auto slots = free_slots(3, {"a"});
  PeriodicPlan plan({.every_epochs = 1});
  slots[1].stage = Stage::kEmbargoed;
  CHECK(germinated(plan, slots, 1, 3) == std::vector<Germination>{{"r0c0", "a"}, {"r0c2", "a"}, {"r0c0", "a"}});
  slots[1].stage = Stage::kDormant;
  CHECK(germinated(plan, slots, 4, 5) == std::vector<Germination>{{"r0c1", "a"}, {"r0c2", "a"}});
}

TEST_CASE("without a free slot or room the germination is left out, with the reason, and the turn is kept") {
  auto slots = free_slots(2, {"a", "b"});
  PeriodicPlan plan({.every_epochs = 2});
  CHECK(plan.after({0, 1, slots, 1}).at(0).error().why == "the next one is due after epoch 2");
  CHECK(plan.after({1, 2, slots, 0}).at(0).error().why == kNoRoom);
  auto taken = slots;
  for (auto& slot : taken) slot.stage = Stage::kTraining;
  CHECK(plan.after({3, 4, taken, 1}).at(0).error().why == kNoFreeSlot);
  CHECK(plan.after({4, 5, slots, 1}).at(0).error().why == "the next one is due after epoch 6");
  const auto answers = plan.after({5, 6, slots, 1});
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0]);
  CHECK(answers[0].value().what == Germination{"r0c0", "a"});
  CHECK(answers[0].value().reason == "due every 2 epochs; round robin, germination 1 at this slot");
}

TEST_CASE("a germination that was due in an epoch without a decision is made up for") {
  const auto slots = free_slots(2, {"a"});
  PeriodicPlan plan({.every_epochs = 5});
  CHECK(plan.after({4, 6, slots, 1}).at(0));
  CHECK_FALSE(plan.after({6, 7, slots, 1}).at(0));
}

TEST_CASE("its state restores the turns, and what comes next can be asked without changing them") {
  auto slots = free_slots(2, {"a", "b"});
  PeriodicPlan plan({.every_epochs = 1}), restored({.every_epochs = 1});
  germinated(plan, slots, 1, 3);
  restored.load(nlohmann::json::parse(plan.save().dump()));
  CHECK(restored.next(3, slots) == Germination{"r0c1", "b"});
  CHECK_FALSE(restored.next(3, {}));
  CHECK(germinated(restored, slots, 4, 9) == germinated(plan, slots, 4, 9));
}

}  // namespace
}  // namespace esper::tamiyo::periodic_plan_test
