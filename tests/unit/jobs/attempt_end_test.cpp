#include "jobs/job/attempt_end.h"

#include <catch2/catch_test_macros.hpp>

#include "jobs/job/job_states.h"

using namespace esper::jobs;
using namespace std::chrono_literals;

namespace {

Job running() {
  Job job;
  job.state = JobState::kRunning;
  return job;
}

JobState after_exit(int code) {
  Job job = running();
  settle(job, {.exit_code = code}, {});
  return job.state;
}

}  // namespace

TEST_CASE("the exit status decides whether a job ends or goes on") {
  CHECK(after_exit(0) == JobState::kSucceeded);
  CHECK(after_exit(4) == JobState::kDiverged);
  for (const int code : {2, 3, 5, 7, 70, 99}) {
    CAPTURE(code);
    CHECK(after_exit(code) == JobState::kFailed);
  }
  for (const int code : {6, 75, 129, 130, 143}) {
    CAPTURE(code);
    CHECK(after_exit(code) == JobState::kQueued);
  }
}

TEST_CASE(
    "interruptions of one cause without a new checkpoint are counted, and end the job after the last that is allowed") {
  Job job = running();
  const RestartRules rules{.most_interruptions = 3};
  for (int count = 1; count <= 3; ++count) {
    settle(job, {.signal = 9, .checkpoint = "a"}, rules);
    CHECK(job.state == JobState::kQueued);
    // The first one brought a checkpoint.
    CHECK(job.interruptions == count);
    job.state = JobState::kRunning;
  }
  SECTION("the same once more") {
    settle(job, {.signal = 9, .checkpoint = "a"}, rules);
    CHECK(job.state == JobState::kFailed);
    CHECK(job.reason.find("signal 9") != std::string::npos);
  }
  SECTION("with a new checkpoint") {
    settle(job, {.signal = 9, .checkpoint = "b"}, rules);
    CHECK(job.state == JobState::kQueued);
    CHECK(job.interruptions == 1);
  }
  SECTION("of another cause") {
    settle(job, {.signal = 11, .checkpoint = "a"}, rules);
    CHECK(job.state == JobState::kQueued);
    CHECK(job.interruptions == 1);
  }
}

TEST_CASE("what was asked for is what becomes of a stopped job, unless it was faster") {
  Job job = running();
  job.state = JobState::kStopping;
  for (const auto& [purpose, state] :
       {std::pair{StopPurpose::kCancel, JobState::kCancelled}, std::pair{StopPurpose::kPause, JobState::kPaused},
        std::pair{StopPurpose::kYield, JobState::kQueued}}) {
    Job one = job;
    one.purpose = purpose;
    settle(one, {.exit_code = 143}, {});
    CHECK(one.state == state);
    CHECK(one.interruptions == 0);
    CHECK(one.purpose == StopPurpose::kNone);
    one = job;
    one.purpose = purpose;
    settle(one, {.exit_code = 0}, {});
    CHECK(one.state == JobState::kSucceeded);
  }
}

TEST_CASE("what cannot be started fails with the reason") {
  Job job = running();
  job.state = JobState::kStarting;
  settle(job, {.problem = "cannot start esper"}, {});
  CHECK(job.state == JobState::kFailed);
  CHECK(job.reason == "cannot start esper");
}

TEST_CASE("the delay before another attempt doubles up to its limit") {
  const RestartRules rules{.first_delay = 2s, .longest_delay = 10s};
  Job job;
  CHECK(restart_delay(job, rules) == 0s);
  job.interruptions = 1;
  CHECK(restart_delay(job, rules) == 2s);
  job.interruptions = 3;
  CHECK(restart_delay(job, rules) == 8s);
  job.interruptions = 1000000;
  CHECK(restart_delay(job, rules) == 10s);
}

TEST_CASE("an attempt that never began is not counted, and the job waits for its turn again") {
  Job job = running();
  job.state = JobState::kStarting;
  job.interruptions = 2;
  job.checkpoint = "epoch-3";
  settle(job, {.problem = "no room", .never_began = true}, {.most_interruptions = 0});
  CHECK(job.state == JobState::kQueued);
  CHECK(job.reason == "could not be started: no room");
  CHECK(job.interruptions == 2);
  CHECK(job.checkpoint == "epoch-3");
  job.state = JobState::kStopping;
  job.purpose = StopPurpose::kCancel;
  settle(job, {.never_began = true}, {});
  CHECK(job.state == JobState::kCancelled);
}
