#include "tamiyo/random_plan.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>

#include "unit/tamiyo/slots.h"

namespace esper::tamiyo::random_plan_test {
namespace {

struct Drawn {
  std::uint32_t epoch = 0;
  Germination what;
  bool operator==(const Drawn&) const = default;
};

std::vector<Drawn> drawn(const RandomPlan& plan, const std::vector<leyline::SlotState>& slots, std::uint32_t epochs) {
  std::vector<Drawn> list;
  for (std::uint32_t epoch = 1; epoch <= epochs; ++epoch) {
    const auto answers = plan.after({epoch - 1, epoch, slots, 1});
    REQUIRE(answers.size() == 1);
    if (answers[0]) list.push_back({epoch, answers[0].value().what});
  }
  return list;
}

TEST_CASE("the numbers follow from the seed and the epoch, in every process and for ever") {
  const RandomPlan plan({.probability = 0.2}, 7);
  CHECK(drawn(plan, free_slots(3, {"good", "bad"}), 40) == std::vector<Drawn>{{10, {"r0c1", "good"}},
                                                                              {11, {"r0c2", "bad"}},
                                                                              {15, {"r0c1", "good"}},
                                                                              {26, {"r0c0", "good"}},
                                                                              {32, {"r0c1", "bad"}},
                                                                              {34, {"r0c2", "bad"}}});
}

TEST_CASE("policy.random.seed takes the place of the run's seed") {
  const auto slots = free_slots(3, {"good", "bad"});
  const auto sevens = drawn(RandomPlan({.probability = 0.2}, 7), slots, 40);
  CHECK(drawn(RandomPlan({.probability = 0.2, .seed = 7}, 1), slots, 40) == sevens);
  CHECK_FALSE(drawn(RandomPlan({.probability = 0.2}, 1), slots, 40) == sevens);
}

TEST_CASE("it germinates as often as the probability says, equally at all slots and of all blueprints") {
  constexpr std::uint32_t kEpochs = 20'000;
  const auto all = drawn(RandomPlan({.probability = 0.25}, 1), free_slots(3, {"good", "bad"}), kEpochs);
  const auto count = static_cast<double>(all.size());
  CHECK(std::abs(count / kEpochs - 0.25) < 0.01);
  std::map<std::pair<std::string, std::string>, double> shares;
  for (const auto& one : all) shares[{one.what.slot, one.what.blueprint}] += 1 / count;
  REQUIRE(shares.size() == 6);
  for (const auto& [what, share] : shares) CHECK(std::abs(share - 1 / 6.0) < 0.02);
  CHECK(drawn(RandomPlan({.probability = 0}, 1), free_slots(1, {"good"}), 100).empty());
  CHECK(drawn(RandomPlan({.probability = 1}, 1), free_slots(1, {"good"}), 100).size() == 100);
}

TEST_CASE("a slot that was not chosen may be taken without another being chosen") {
  const RandomPlan plan({.probability = 0.2}, 7);
  auto slots = free_slots(3, {"good", "bad"});
  slots[0].stage = leyline::Stage::kTraining;
  CHECK(plan.after({9, 10, slots, 1}).at(0).value().what == Germination{"r0c1", "good"});
  slots[1].stage = leyline::Stage::kTraining;
  CHECK(plan.after({9, 10, slots, 1}).at(0).value().what.slot == "r0c2");
}

TEST_CASE("it says why it does or does not germinate") {
  const RandomPlan plan({.probability = 0.2}, 7);
  const auto slots = free_slots(3, {"good", "bad"});
  CHECK(plan.after({9, 10, slots, 1}).at(0).value().reason ==
        "0.0311 was drawn for epoch 10, policy.random.probability is 0.2");
  CHECK(plan.after({11, 12, slots, 1}).at(0).error().why.ends_with("for epoch 12, policy.random.probability is 0.2"));
  CHECK(plan.after({9, 10, slots, 0}).at(0).error().why == kNoRoom);
  CHECK(plan.after({9, 10, {}, 1}).at(0).error().why == kNoFreeSlot);
}

TEST_CASE("what comes next is known, since the draws are") {
  const auto slots = free_slots(3, {"good", "bad"});
  const RandomPlan plan({.probability = 0.2}, 7);
  CHECK(plan.next(0, slots) == Germination{"r0c1", "good"});
  CHECK(plan.next(10, slots) == Germination{"r0c2", "bad"});
  CHECK_FALSE(plan.next(10, {}));
  CHECK_FALSE(RandomPlan({.probability = 0}, 7).next(0, slots));
}

}  // namespace
}  // namespace esper::tamiyo::random_plan_test
