#include "jobs/store/sweep_store.h"

#include <catch2/catch_test_macros.hpp>

#include "sweep_room.h"

namespace esper::test::sweep_store_test {

using namespace esper;
using namespace esper::jobs;
using namespace sweep_room;

TEST_CASE("the newest sweeps are listed, each with the numbers of its jobs") {
  SweepRoom room;
  for (int count = 0; count < 3; ++count) room.submit(kGrid, {.hold = true});
  REQUIRE(room.sweeps.cancel(2, kAsked));
  CHECK(room.store.list(1000).size() == 3);
  const auto listed = room.store.list(2);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].id == 2);
  CHECK(listed[0].jobs == std::map<std::string, std::int64_t>{{"cancelled", 4}});
  CHECK(listed[1].id == 3);
  CHECK(listed[1].jobs == std::map<std::string, std::int64_t>{{"held", 4}});
}

}  // namespace esper::test::sweep_store_test
