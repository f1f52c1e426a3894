#include "jobs/daemon/job_census.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::job_census_test {

using namespace esper::jobs;
using S = JobState;

TEST_CASE("a census counts jobs that have not ended, and says what changed") {
  JobCensus census({{1, S::kRunning}, {2, S::kQueued}});
  CHECK(census.text() == "1 queued, 1 running");
  const auto added = census.see({.id = 3, .state = S::kQueued});
  REQUIRE(added);
  CHECK(!added->before);
  CHECK(census.count(S::kQueued) == 2);
  const auto stopping = census.see({.id = 1, .state = S::kStopping, .purpose = StopPurpose::kYield});
  REQUIRE(stopping);
  CHECK(stopping->before == S::kRunning);
  const auto queued = census.see({.id = 1, .state = S::kQueued});
  REQUIRE(queued);
  CHECK(queued->purpose_before == StopPurpose::kYield);
  CHECK(census.text() == "3 queued");
}

TEST_CASE("a change that leaves the state is none, and neither is a job that ended long ago") {
  JobCensus census({{1, S::kQueued}});
  CHECK(!census.see({.id = 1, .state = S::kQueued, .priority = 7}));
  CHECK(!census.see({.id = 9, .state = S::kFailed}));
  CHECK(census.count(S::kQueued) == 1);
}

TEST_CASE("a job that ended is not counted until it is retried") {
  JobCensus census({{1, S::kRunning}});
  REQUIRE(census.see({.id = 1, .state = S::kFailed}));
  CHECK(census.text() == "idle");
  const auto retried = census.see({.id = 1, .state = S::kQueued});
  REQUIRE(retried);
  CHECK(!retried->before);
  CHECK(census.text() == "1 queued");
}

}  // namespace esper::test::job_census_test
