#include "step/rates/schedule.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

namespace esper::test::schedule_test {

using Catch::Matchers::WithinAbs;
using esper::config::ScheduleConfig;
using esper::config::ScheduleKind;
using esper::step::learning_rate;
using esper::step::RunLength;

namespace {
constexpr RunLength kRun{10, 100};
}

TEST_CASE("constant stays") {
  for (const std::int64_t step : {0, 1, 99, 100000}) CHECK(learning_rate(0.1, {}, kRun, step) == 0.1);
}

TEST_CASE("warm-up rises to the base in warmup_steps steps") {
  ScheduleConfig schedule;
  schedule.warmup_steps = 4;
  CHECK_THAT(learning_rate(0.4, schedule, kRun, 0), WithinAbs(0.1, 1e-15));
  CHECK_THAT(learning_rate(0.4, schedule, kRun, 2), WithinAbs(0.3, 1e-15));
  CHECK(learning_rate(0.4, schedule, kRun, 3) == 0.4);
  CHECK(learning_rate(0.4, schedule, kRun, 4) == 0.4);
}

TEST_CASE("cosine falls from the base to min_factor and stays there") {
  ScheduleConfig schedule;
  schedule.kind = ScheduleKind::kCosine;
  schedule.min_factor = 0.1;
  CHECK(learning_rate(1, schedule, kRun, 0) == 1);
  CHECK_THAT(learning_rate(1, schedule, kRun, 50), WithinAbs(0.55, 1e-12));
  CHECK_THAT(learning_rate(1, schedule, kRun, 100), WithinAbs(0.1, 1e-12));
  CHECK_THAT(learning_rate(1, schedule, kRun, 5000), WithinAbs(0.1, 1e-12));
  schedule.total_steps = 20;
  CHECK_THAT(learning_rate(1, schedule, kRun, 10), WithinAbs(0.55, 1e-12));
  schedule.warmup_steps = 10;
  CHECK(learning_rate(1, schedule, kRun, 10) == 1);
  CHECK_THAT(learning_rate(1, schedule, kRun, 15), WithinAbs(0.55, 1e-12));
  schedule.warmup_steps = 50;
  CHECK(learning_rate(1, schedule, kRun, 49) == 1);
  CHECK_THAT(learning_rate(1, schedule, kRun, 51), WithinAbs(0.1, 1e-12));
}

TEST_CASE("step falls by gamma every step_epochs epochs") {
  ScheduleConfig schedule;
  schedule.kind = ScheduleKind::kStep;
  schedule.step_epochs = 2;
  schedule.gamma = 0.5;
  CHECK(learning_rate(1, schedule, kRun, 19) == 1);
  CHECK(learning_rate(1, schedule, kRun, 20) == 0.5);
  CHECK(learning_rate(1, schedule, kRun, 39) == 0.5);
  CHECK(learning_rate(1, schedule, kRun, 40) == 0.25);
}

}  // namespace esper::test::schedule_test
