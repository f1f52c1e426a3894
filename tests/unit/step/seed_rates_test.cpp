#include "step/seed_rates.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <numbers>

namespace esper::step::seed_rates_test {
namespace {

using Catch::Matchers::WithinRel;

constexpr RunLength kLength{10, 100};

std::vector<double> lr_scales(const SeedSchedule& schedule, const std::vector<kasmina::ParameterGroup>& groups,
                              std::int64_t step) {
  std::vector<double> scales{7};  // of another step
  find_lr_scales(schedule, groups, step, scales);
  return scales;
}

// The host, a seed whose training began after epoch 2, one that rests, and a module that the host had from the start.
std::vector<kasmina::ParameterGroup> groups() {
  std::vector<kasmina::ParameterGroup> all(4);
  all[0].id = "host";
  all[1].id = "seed-0001", all[1].training_epoch = 2;
  all[2].id = "seed-0002", all[2].learns = false;
  all[3].id = "seed-0003";
  return all;
}

config::ScheduleConfig cosine() {
  config::ScheduleConfig schedule;
  schedule.kind = config::ScheduleKind::kCosine;
  return schedule;
}

TEST_CASE("without a schedule of their own seeds have the run's rate, and none while they rest") {
  const config::SeedScheduleConfig same;
  const config::ScheduleConfig run = cosine();
  const SeedSchedule schedule{same, run, kLength};
  CHECK(schedule.is_default());
  CHECK(lr_scales(schedule, groups(), 35) == std::vector<double>{1, 1, 0, 1});
}

TEST_CASE("a grown seed is warmed up from its first step, and scaled") {
  config::SeedScheduleConfig seed;
  seed.warmup_steps = 4;
  seed.scale = 2;
  const config::ScheduleConfig run = cosine();
  const SeedSchedule schedule{seed, run, kLength};
  CHECK(lr_scales(schedule, groups(), 20) == std::vector<double>{1, 0.5, 0, 1});
  CHECK(lr_scales(schedule, groups(), 22) == std::vector<double>{1, 1.5, 0, 1});
  CHECK(lr_scales(schedule, groups(), 50) == std::vector<double>{1, 2, 0, 1});
}

TEST_CASE("its own cosine begins at the base rate and ends with the run") {
  config::SeedScheduleConfig seed;
  seed.kind = config::SeedScheduleKind::kCosine;
  const config::ScheduleConfig run = cosine();
  const SeedSchedule schedule{seed, run, kLength};
  for (const std::int64_t step : {20, 21, 60, 99}) {
    const double rate = lr_scales(schedule, groups(), step)[1] * learning_rate(1, run, kLength, step);
    const double expected = 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(step - 20) / 80));
    CHECK_THAT(rate, WithinRel(expected, 1e-12));
  }
  // Where the run's rate is zero there is nothing to scale.
  CHECK(lr_scales(schedule, groups(), 100)[1] == 0);
}

TEST_CASE("the host is warmed up again from each seed's first step") {
  config::SeedScheduleConfig seed;
  seed.host_rewarm_steps = 10;
  const config::ScheduleConfig run;
  const SeedSchedule schedule{seed, run, kLength};
  CHECK(lr_scales(schedule, groups(), 20) == std::vector<double>{0.1, 1, 0, 0.1});
  CHECK(lr_scales(schedule, groups(), 24) == std::vector<double>{0.5, 1, 0, 0.5});
  CHECK(lr_scales(schedule, groups(), 30) == std::vector<double>{1, 1, 0, 1});
}

}  // namespace
}  // namespace esper::step::seed_rates_test
