#include "tolaria/safety/epoch_budgets.h"

#include <catch2/catch_test_macros.hpp>

#include "support/memory_sink.h"

namespace esper::test::epoch_budgets_test {

using namespace esper::tolaria;
using std::chrono::milliseconds;

TEST_CASE("a given budget holds from the first epoch on") {
  Budget budget(milliseconds(50));
  CHECK_FALSE(budget.exceeded(50));
  CHECK(budget.exceeded(50.1) == 50.0);
}

TEST_CASE("a learned budget needs five epochs, follows them, and allows a second more") {
  Budget budget(base::Duration(0));
  for (const double took : {1e6, 1000.0, 1000.0, 1000.0, 1000.0}) CHECK_FALSE(budget.exceeded(took));
  CHECK_FALSE(budget.exceeded(4000));
  CHECK(budget.exceeded(4001) == 4000.0);
  for (int i = 0; i < 20; ++i) CHECK_FALSE(budget.exceeded(10));
  CHECK(budget.exceeded(1031) == 1030.0);
}

TEST_CASE("a slow epoch is reported and is a notice, no more") {
  RunProgress progress;
  progress.epoch = 3;
  base::Ledger ledger;
  MemorySink sink;
  Outbox outbox("run", base::Clock(), progress, ledger, sink);
  Emergency emergency({}, base::Clock(), outbox);
  EpochBudgets budgets({milliseconds(10), milliseconds(5)}, outbox);
  budgets.check(progress, 9, 4, emergency);
  CHECK(outbox.waiting().empty());
  budgets.check(progress, 11, 4, emergency);
  REQUIRE(outbox.waiting().size() == 2);
  CHECK(outbox.waiting()[0].description == "tolaria.epoch_budget_exceeded");
  CHECK(outbox.waiting()[0].attributes.at("latency_ms") == "11.000");
  CHECK(outbox.waiting()[0].attributes.at("budget_ms") == "10.000");
  CHECK(outbox.waiting()[1].description == "tolaria.emergency.escalated");
  CHECK(outbox.waiting()[1].attributes.at("level") == "1");
  budgets.check(progress, 9, 6, emergency);
  REQUIRE(outbox.waiting().size() == 3);
  CHECK(outbox.waiting().back().description == "tolaria.hook_budget_exceeded");
}

}  // namespace esper::test::epoch_budgets_test
