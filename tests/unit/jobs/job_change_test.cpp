#include "jobs/job/job_change.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::job_change_test {

using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("before a job has begun everything changes, then its name, priority and needs") {
  const JobChange needs{.name = "a", .priority = 1, .threads = 1, .memory_bytes = 1, .gpus = 1};
  const JobChange file{.config = "epochs: 3"}, after{.after = JobIds{{1}}};
  for (const JobState state : {JobState::kHeld, JobState::kQueued, JobState::kCancelled, JobState::kFailed}) {
    CAPTURE(state);
    for (const JobChange& change : {needs, file, after}) CHECK(why_not({.id = 4, .state = state}, change).empty());
  }
  for (const Job& begun :
       {Job{.id = 4, .state = JobState::kRunning}, Job{.id = 4, .state = JobState::kQueued, .attempts = 1},
        Job{.id = 4, .state = JobState::kPaused, .attempts = 1},
        Job{.id = 4, .state = JobState::kFailed, .attempts = 1},
        Job{.id = 4, .state = JobState::kCancelled, .attempts = 1}}) {
    CHECK(why_not(begun, needs).empty());
    CHECK_THAT(why_not(begun, file), ContainsSubstring("has started"));
    CHECK_THAT(why_not(begun, file), ContainsSubstring("esper job set"));
    CHECK_THAT(why_not(begun, after), ContainsSubstring("job 4"));
  }
  CHECK_THAT(why_not({.id = 4, .sweep = 2}, file), ContainsSubstring("belongs to sweep 2"));
  const Job done{.id = 4, .state = JobState::kSucceeded};
  CHECK(why_not(done, {.name = "a"}).empty());
  CHECK_FALSE(why_not(done, needs).empty());
}

TEST_CASE("only what is given changes") {
  const Job before{.id = 4, .name = "a", .priority = 2, .after = {1}, .needs = {.threads = 3, .memory_bytes = 5}};
  CHECK(changed(before, {}) == before);
  const Job after = changed(before, {.priority = 7, .after = JobIds{}, .memory_bytes = 6});
  CHECK(after == Job{.id = 4, .name = "a", .priority = 7, .needs = {.threads = 3, .memory_bytes = 6}});
}

TEST_CASE("the audit log's summary names each field") {
  CHECK(summary_of({.name = "b", .priority = -1, .after = JobIds{{1, 2}}, .config = "epochs: 3"}) ==
        "name b, priority -1, after 1 2, run file");
  CHECK(summary_of({.after = JobIds{}}) == "after nothing");
}

TEST_CASE("what changes the forecast of a run leaves the job without one until it is made again") {
  Job job{.id = 1, .state = JobState::kHeld, .needs = {.threads = 1, .gpus = 1}};
  job.forecast.parameters = 7;
  CHECK(changed(job, {.priority = 3}).forecast == job.forecast);
  CHECK(changed(job, {.memory_bytes = 1 << 20}).forecast == job.forecast);
  CHECK(changed(job, {.gpus = 2}).forecast != job.forecast);
  CHECK(changed(job, {.config = "a", .config_before = "b"}).needs.gpus == kGpusByDevice);
  CHECK(changed(job, {.gpus = 2, .config = "a", .config_before = "b"}).needs.gpus == 2);
  job.state = JobState::kRunning;
  CHECK(changed(job, {.gpus = 2}).forecast == job.forecast);
}

}  // namespace esper::test::job_change_test
