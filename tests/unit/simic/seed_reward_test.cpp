#include "simic/seed_reward.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

namespace esper::test::seed_reward_test {

using namespace esper;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

history::Receipt seed() {
  history::Receipt receipt;
  receipt.seed_id = "seed-0001";
  receipt.born = history::RunPlace{3, 30};
  receipt.accuracy_at_birth_points = 60;
  receipt.accuracy_after_first_epoch_points = 61;
  return receipt;
}

}  // namespace

TEST_CASE("a seed's reward is that of every epoch in which it was measured, and their sum") {
  auto receipt = seed();
  receipt.measured = {{8, 1, 70.0}, {9, 16, 64.0}, {10, -2, 66.0}};
  const auto reward = simic::reward_of(receipt);
  REQUIRE(reward.epochs.size() == 3);
  CHECK(reward.epochs[0].reward == Approx(1));
  CHECK(reward.epochs[1].attribution == Approx(8));            // sqrt(4 * 16)
  CHECK(reward.epochs[1].ratio_penalty == Approx(-0.1 / 15));  // a ratio of 16 / 3
  CHECK(reward.epochs[1].epoch == 9);
  CHECK(reward.epochs[2].reward == Approx(-2));
  CHECK(reward.total == Approx(7 - 0.1 / 15));
  CHECK(reward.missing.empty());
  receipt.reward = reward;
  CHECK_THAT(
      receipt_text(receipt),
      ContainsSubstring("reward                      +6.993 over 3 epochs: +1.000 at 8, +7.993 at 9, -2.000 at 10"));
  const auto told = receipt_json("run", receipt)["reward"];
  CHECK(told["total"] == *reward.total);
  CHECK(told["epochs"][1]["attribution"] == reward.epochs[1].attribution);
  CHECK(told["missing"] == "");
}

TEST_CASE("a reward that cannot be worked out says why") {
  auto receipt = seed();
  CHECK_FALSE(simic::reward_of(receipt).total);
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("no contribution was measured while alpha"));
  receipt.stages = {{leyline::Stage::kGerminated, 1}};
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("alpha has always been 0"));
  receipt.stages.push_back({leyline::Stage::kTraining, 2});  // blended from its germination on, perhaps
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("growth.counterfactual.every_epochs"));
  receipt.telemetry_missing = true;
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("telemetry.jsonl is missing"));
  receipt.measured = {{8, 1, {}}};
  CHECK_FALSE(simic::reward_of(receipt).total);
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("without epoch 8: the validation accuracy"));
  receipt.measured.push_back({9, 2, 70.0});
  CHECK(simic::reward_of(receipt).total == Approx(2));
  receipt.accuracy_at_birth_points.reset();
  CHECK(simic::reward_of(receipt).total == Approx(1));
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("half of each contribution counts"));
  receipt.accuracy_at_birth_points = 60;
  CHECK(simic::reward_of(receipt).missing.find("discount") == std::string::npos);
  receipt.accuracy_after_first_epoch_points.reset();
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("discount and ratio penalty are omitted"));
  receipt.measured.clear();
  receipt.origin = history::Receipt::Origin::kHost;
  CHECK_THAT(simic::reward_of(receipt).missing, ContainsSubstring("a module of the host gets no reward"));
}

}  // namespace esper::test::seed_reward_test
