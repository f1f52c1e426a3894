#include "tamiyo/schedule_plan.h"

#include <catch2/catch_test_macros.hpp>

#include "unit/tamiyo/slots.h"

namespace esper::tamiyo::schedule_plan_test {
namespace {

using leyline::Stage;

// As text: "r0c0=a", or "no: " or "missed: " and why.
std::vector<std::string> texts(const PlanAnswers& answers) {
  std::vector<std::string> list;
  for (const auto& answer : answers) {
    list.push_back(answer ? answer.value().what.slot + "=" + answer.value().what.blueprint
                          : (answer.error().is_missed ? "missed: " : "no: ") + answer.error().why);
  }
  return list;
}

using Texts = std::vector<std::string>;

TEST_CASE("lines are germinated after their epoch, percentages once so many epochs are done, each once") {
  const auto slots = free_slots(3, {"a", "b"});
  const SchedulePlan plan({"30%:r0c0=a", "2:r0c2=b", "25%:r0c1=a"}, 10);
  CHECK(texts(plan.after({0, 1, slots, 4})) == Texts{"no: the next line of the schedule is due after epoch 2"});
  CHECK(texts(plan.after({1, 2, slots, 4})) == Texts{"r0c2=b"});
  CHECK(texts(plan.after({2, 3, slots, 4})) == Texts{"r0c0=a", "r0c1=a"});
  CHECK(texts(plan.after({3, 4, slots, 4})) == Texts{"no: no line of the schedule is left"});
  CHECK(plan.after({1, 2, slots, 4})[0].value().reason == "\"2:r0c2=b\" of the schedule is due");
}

TEST_CASE("a line that cannot be executed is reported with the reason and not tried again") {
  auto slots = free_slots(2, {"a", "b"});
  slots[0].stage = Stage::kEmbargoed;
  const SchedulePlan plan({"2:r0c0=a", "2:r0c1=c", "2:r0c7=a"}, 10);
  CHECK(texts(plan.after({1, 2, slots, 4})) ==
        Texts{"missed: \"2:r0c0=a\" is due, but r0c0 is not free but EMBARGOED; it is not tried again",
              "missed: \"2:r0c1=c\" is due, but r0c1 can grow a, b and not c; it is not tried again",
              "missed: \"2:r0c7=a\" is due, but there is no slot r0c7; it is not tried again"});
  slots[0].stage = Stage::kDormant;
  CHECK(texts(plan.after({2, 3, slots, 4})) == Texts{"no: no line of the schedule is left"});
}

TEST_CASE("several lines of one time germinate at once, as many as growth.max_seeds leaves room for") {
  const auto slots = free_slots(3, {"a"});
  const SchedulePlan plan({"2:r0c0=a", "2:r0c1=a", "2:r0c2=a"}, 10);
  CHECK(texts(plan.after({1, 2, slots, 3})) == Texts{"r0c0=a", "r0c1=a", "r0c2=a"});
  CHECK(texts(plan.after({1, 2, slots, 2})) ==
        Texts{"r0c0=a", "r0c1=a",
              "missed: \"2:r0c2=a\" is due, but as many seeds grow as growth.max_seeds allows; it is not tried again"});
}

TEST_CASE("lines of an epoch without a decision are due at the next one, a slot's second then finds it taken") {
  const auto slots = free_slots(2, {"a", "b"});
  const SchedulePlan plan({"2:r0c0=a", "3:r0c0=b", "3:r0c1=b"}, 10);
  CHECK(texts(plan.after({1, 3, slots, 4})) ==
        Texts{"r0c0=a", "missed: \"3:r0c0=b\" is due, but r0c0 was just taken; it is not tried again", "r0c1=b"});
}

TEST_CASE("what comes next is all that one epoch's lines germinate at free slots") {
  const auto slots = free_slots(2, {"a", "b"});
  const SchedulePlan plan({"30%:r0c0=a", "5:r0c1=b"}, 10);
  using Germinations = std::vector<Germination>;
  CHECK(plan.next(0, slots) == Germinations{{"r0c0", "a"}});
  CHECK(plan.next(3, slots) == Germinations{{"r0c1", "b"}});
  CHECK(plan.next(0, {slots[1]}) == Germinations{{"r0c1", "b"}});
  CHECK(plan.next(5, slots).empty());
  const SchedulePlan at_once({"5:r0c1=b*2", "50%:r0c0=a*1", "6:r0c0=a"}, 10);
  CHECK(at_once.next(0, slots) == Germinations{{"r0c1", "b*2"}, {"r0c0", "a"}});
  CHECK(texts(at_once.after({4, 5, slots, 4})) == Texts{"r0c1=b*2", "r0c0=a"});
}

TEST_CASE("of two lines of one epoch for one slot the first is what comes next, as it is when they are due") {
  const auto slots = free_slots(2, {"a", "b"});
  const SchedulePlan plan({"5:r0c0=a", "5:r0c0=b", "5:r0c1=b"}, 10);
  CHECK(plan.next(0, slots) == std::vector<Germination>{{"r0c0", "a"}, {"r0c1", "b"}});
  CHECK(texts(plan.after({4, 5, slots, 4})) ==
        Texts{"r0c0=a", "missed: \"5:r0c0=b\" is due, but r0c0 was just taken; it is not tried again", "r0c1=b"});
}

}  // namespace
}  // namespace esper::tamiyo::schedule_plan_test
