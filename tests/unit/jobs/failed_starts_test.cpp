#include "jobs/queue/failed_starts.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::failed_starts_test {

using namespace esper::jobs;
using namespace std::chrono_literals;

namespace {

const AttemptEnd kNoFile{.problem = "no such file", .never_began = true, .may_stay = true};
const AttemptEnd kNoMemory{.problem = "out of memory", .never_began = true};

Job numbered(JobId id) {
  Job job;
  job.id = id;
  job.checkpoint = "epoch-0001";
  return job;
}

}  // namespace

TEST_CASE("the delay doubles with each start of a job that fails in a row, up to the longest one") {
  FailedStarts starts({.longest_delay = 3s});
  CHECK(starts.delay_after(numbered(1), kNoMemory) == 1s);
  CHECK(starts.delay_after(numbered(1), kNoFile) == 2s);
  CHECK(starts.delay_after(numbered(1), kNoMemory) == 3s);
  CHECK(starts.delay_after(numbered(2), kNoMemory) == 1s);
}

TEST_CASE("an attempt that began ends the row, and its job waits as its interruptions say") {
  FailedStarts starts({.first_delay = 7s});
  Job job = numbered(1);
  CHECK(starts.delay_after(job, kNoMemory) == 1s);
  job.interruptions = 1;
  CHECK(starts.delay_after(job, {.signal = 9}) == 7s);
  CHECK(starts.delay_after(job, kNoMemory) == 1s);
}

TEST_CASE("the last start in a row that is allowed fails the job, where what fails it may stay") {
  FailedStarts starts({.most_failed_starts = 3});
  for (int count = 0; count < 2; ++count) {
    CHECK(starts.limited(numbered(1), kNoFile).never_began);
    starts.delay_after(numbered(1), kNoFile);
  }
  CHECK(starts.limited(numbered(1), kNoMemory).never_began);
  CHECK(starts.limited(numbered(2), kNoFile).never_began);
  const AttemptEnd last = starts.limited(numbered(1), kNoFile);
  CHECK_FALSE(last.never_began);
  CHECK(last.problem == "could not be started 3 times in a row: no such file");
  CHECK(last.checkpoint == "epoch-0001");
}

}  // namespace esper::test::failed_starts_test
