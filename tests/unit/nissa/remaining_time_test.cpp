#include "nissa/remaining_time.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::nissa::remaining_time_test {

using std::chrono::seconds;

TEST_CASE("the remaining time follows from what was done since the clock started") {
  const RemainingTime::TimePoint begin{};
  RemainingTime remaining;
  CHECK_FALSE(remaining.seconds(0.5, begin));
  remaining.start(0.5, begin);
  CHECK_FALSE(remaining.seconds(0.5, begin + seconds(10)));
  CHECK(remaining.seconds(0.75, begin + seconds(10)) == 10);
  remaining.start(0.75, begin + seconds(10));
  CHECK(remaining.seconds(0.75, begin + seconds(20)) == 20);
  CHECK(remaining.seconds(1, begin + seconds(30)) == 0);
}

}  // namespace esper::nissa::remaining_time_test
