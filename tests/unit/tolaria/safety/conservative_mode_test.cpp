#include "tolaria/safety/conservative_mode.h"

#include <catch2/catch_test_macros.hpp>

#include "support/memory_sink.h"

namespace esper::test::conservative_mode_test {

using namespace esper::tolaria;
using Decision = ConservativeMode::Decision;

TEST_CASE("a policy that stops deciding is reported once, and so is one that decides again") {
  RunProgress progress;
  base::Ledger ledger;
  MemorySink sink;
  Outbox outbox("run", base::Clock(), progress, ledger, sink);
  Emergency emergency({}, base::Clock(), outbox);
  ConservativeMode mode(outbox, emergency);
  mode.follow(Decision::kMade, 0);
  CHECK(outbox.waiting().empty());
  mode.follow(Decision::kMissing, 2);
  mode.follow(Decision::kMissing, 2);
  REQUIRE(outbox.waiting().size() == 2);
  CHECK(outbox.waiting()[0].description == "tolaria.emergency.escalated");
  CHECK(outbox.waiting()[0].attributes.at("level") == "3");
  CHECK(outbox.waiting()[0].attributes.at("streak") == "2");
  CHECK(outbox.waiting()[1].description == "tolaria.conservative_mode_entered");
  mode.follow(Decision::kMade, 0);
  mode.follow(Decision::kMade, 0);
  REQUIRE(outbox.waiting().size() == 3);
  CHECK(outbox.waiting()[2].description == "tolaria.conservative_mode_cleared");
}

}  // namespace esper::test::conservative_mode_test
