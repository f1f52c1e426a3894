#include "tolaria/safety/governor.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::governor_test {

using namespace esper::tolaria;

TEST_CASE("steps are passed over, then the rate is lowered, then the run stops") {
  config::SafetyConfig config;
  config.most_skipped_steps = 2;
  config.most_rate_cuts = 1;
  SafetyRecord record;
  for (const std::int64_t step : {40, 47}) {
    REQUIRE(next_reaction(record, config) == Reaction::kSkipStep);
    record = after_reaction(std::move(record), Reaction::kSkipStep, step, config);
  }
  CHECK(record.skips_step(40));
  CHECK_FALSE(record.skips_step(41));
  REQUIRE(next_reaction(record, config) == Reaction::kLowerRate);
  record = after_reaction(std::move(record), Reaction::kLowerRate, 50, config);
  CHECK(record.rate_factor(49) == 1);
  CHECK(record.rate_factor(50) == 0.5);
  CHECK(next_reaction(record, config) == Reaction::kStop);
}

TEST_CASE("an epoch that ends well clears the counts, and keeps the lower rate") {
  config::SafetyConfig config;
  SafetyRecord record;
  record = after_reaction(std::move(record), Reaction::kSkipStep, 40, config);
  record = after_reaction(std::move(record), Reaction::kLowerRate, 45, config);
  record = after_reaction(std::move(record), Reaction::kLowerRate, 45, config);
  CHECK(record.rate_factor(45) == 0.25);
  const auto earlier = after_reaction(record, Reaction::kLowerRate, 30, config);
  CHECK(earlier.rate_factor(30) == 0.5);
  CHECK(earlier.rate_factor(45) == 0.125);
  record = after_epoch(std::move(record), 60);
  CHECK(record.skipped_steps.empty());
  CHECK(record.rate_factor(0) == 0.25);
  CHECK(next_reaction(record, config) == Reaction::kSkipStep);
  CHECK(after_epoch(SafetyRecord(), 60) == SafetyRecord());
}

TEST_CASE("with nothing allowed a run stops at the first bad step") {
  config::SafetyConfig config;
  config.most_skipped_steps = config.most_rate_cuts = 0;
  CHECK(next_reaction(SafetyRecord(), config) == Reaction::kStop);
}

}  // namespace esper::test::governor_test
