#include "tamiyo/verification/nonce_ledger.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::tamiyo::nonce_ledger_test {

using std::chrono::seconds;

TEST_CASE("an id is accepted once within its time, and again after it") {
  NonceLedger ledger({.time_to_live = seconds(300), .most = 10});
  CHECK(ledger.insert("a", seconds(0)));
  CHECK_FALSE(ledger.insert("a", seconds(0)));
  CHECK_FALSE(ledger.insert("a", seconds(300)));
  CHECK(ledger.insert("a", seconds(301)));
  CHECK(ledger.size() == 1);
  CHECK(ledger.evictions() == 0);
}

TEST_CASE("the ledger never grows beyond its bound, and counts what it forgot early") {
  NonceLedger ledger;
  CHECK(ledger.settings().most == 10'000);
  for (int i = 0; i < 10'003; ++i) REQUIRE(ledger.insert(std::to_string(i), seconds(1)));
  CHECK(ledger.size() == 10'000);
  CHECK(ledger.evictions() == 3);
  CHECK_FALSE(ledger.insert("3", seconds(2)));  // the oldest that is left
  CHECK(ledger.insert("2", seconds(2)));
  CHECK(ledger.insert("new", seconds(400)));
  CHECK(ledger.size() == 1);
}

}  // namespace esper::tamiyo::nonce_ledger_test
