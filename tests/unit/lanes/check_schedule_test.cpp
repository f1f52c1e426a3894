#include "lanes/shape/check_schedule.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>

namespace esper::test::check_schedule_test {

using esper::lanes::CheckSchedule;

TEST_CASE("a lane is compared once in each interval, and in the steps that are named") {
  config::StepConfig config;
  config.check_every = 10;
  CheckSchedule checks(config);
  CHECK(checks.next_after(-1) == 10);
  CHECK(checks.next_after(9) == 10);
  CHECK(checks.next_after(10) == 20);
  CHECK_FALSE(checks.is_comparison_ahead(0));
  checks.compare_at({4, 17});
  CHECK(checks.next_after(3) == 4);
  CHECK(checks.next_after(4) == 10);
  CHECK(checks.next_after(12) == 17);
  CHECK(checks.next_after(17) == 20);
  CHECK(checks.next_interval_after(3) == 10);
  CHECK(checks.is_comparison_ahead(16));
  CHECK_FALSE(checks.is_comparison_ahead(17));
}

TEST_CASE("without intervals only the named steps are compared") {
  config::StepConfig config;
  config.check_every = 0;
  CheckSchedule checks(config);
  CHECK(checks.next_after(5) == INT64_MAX);
  checks.compare_at({9});
  CHECK(checks.next_after(5) == 9);
  CHECK(checks.next_after(9) == INT64_MAX);
}

}  // namespace esper::test::check_schedule_test
