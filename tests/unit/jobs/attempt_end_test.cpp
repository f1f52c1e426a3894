#include "jobs/job/attempt_end.h"

#include <catch2/catch_test_macros.hpp>

#include "history/growth/checkpoint_list.h"
#include "jobs/job/job_states.h"

namespace esper::test::attempt_end_test {

using namespace esper::jobs;
using namespace std::chrono_literals;

namespace {

const std::string kFirst = history::checkpoint_name(1, 10), kSecond = history::checkpoint_name(2, 20);

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
    settle(job, {.signal = 9, .checkpoint = kFirst}, rules);
    CHECK(job.state == JobState::kQueued);
    // The first one brought a checkpoint.
    CHECK(job.interruptions == count);
    job.state = JobState::kRunning;
  }
  SECTION("the same once more") {
    settle(job, {.signal = 9, .checkpoint = kFirst}, rules);
    CHECK(job.state == JobState::kFailed);
    CHECK(job.reason.find("signal 9") != std::string::npos);
  }
  SECTION("with a new checkpoint") {
    settle(job, {.signal = 9, .checkpoint = kSecond}, rules);
    CHECK(job.state == JobState::kQueued);
    CHECK(job.interruptions == 1);
  }
  SECTION("of another cause") {
    settle(job, {.signal = 11, .checkpoint = kFirst}, rules);
    CHECK(job.state == JobState::kQueued);
    CHECK(job.interruptions == 1);
    CHECK(job.reason == "interrupted: signal 11 (Segmentation fault)");
    CHECK(job.cause == "signal 11 (Segmentation fault); signal 9 (Killed)");
  }
  SECTION("after a checkpoint that was saved for a request to stop") {
    job.purpose = StopPurpose::kYield;
    settle(job, {.exit_code = 143, .checkpoint = kSecond}, rules);
    CHECK(job.interruptions == 0);
    settle(job, {.signal = 9, .checkpoint = kSecond}, rules);
    CHECK(job.state == JobState::kQueued);
    CHECK(job.interruptions == 1);
    CHECK(job.cause == "signal 9 (Killed)");
  }
  SECTION("where the checkpoints cannot be listed") {
    settle(job, {.signal = 9}, rules);
    CHECK(job.state == JobState::kFailed);
  }
}

TEST_CASE("a checkpoint of epoch 10,000 is newer than one of epoch 9,999") {
  const RestartRules rules{.most_interruptions = 1};
  Job job = running();
  job.checkpoint = history::checkpoint_name(9'999, 99'990);
  job.interruptions = 1;
  job.cause = "signal 9 (Killed)";
  SECTION("which ends the count") {
    settle(job, {.signal = 9, .checkpoint = history::checkpoint_name(10'000, 100'000)}, rules);
    CHECK(job.state == JobState::kQueued);
    CHECK(job.interruptions == 1);
  }
  SECTION("where the same one is still the newest") {
    settle(job, {.signal = 9, .checkpoint = job.checkpoint}, rules);
    CHECK(job.state == JobState::kFailed);
  }
}

TEST_CASE("causes that take turns do not start a job again for ever") {
  const RestartRules rules{.most_interruptions = 3};
  Job job = running();
  int restarts = 0;
  const auto interrupt = [&](const AttemptEnd& end) {
    job.state = JobState::kRunning;
    settle(job, end, rules);
    if (job.state == JobState::kQueued) ++restarts;
  };
  SECTION("two of them") {
    const AttemptEnd killed{.signal = 9, .checkpoint = kFirst}, no_room{.exit_code = 6, .checkpoint = kFirst};
    while (job.state != JobState::kFailed && restarts < 100) interrupt(restarts % 2 == 0 ? killed : no_room);
    CHECK(restarts == 4);
    CHECK(job.interruptions == 4);
    CHECK(job.cause == "signal 9 (Killed); exit status 6: out of memory or disk space, or a file that cannot be used");
    CHECK(job.reason == "interrupted 4 times in a row without a new checkpoint: " + job.cause);
  }
  SECTION("another one each time") {
    while (job.state != JobState::kFailed && restarts < 100) interrupt({.signal = restarts + 1, .checkpoint = kFirst});
    CHECK(restarts <= 9);
  }
  SECTION("as many as count from 1, each for its whole number of times") {
    for (const int signal : {9, 11, 6})
      for (int count = 1; count <= 3; ++count) interrupt({.signal = signal, .checkpoint = kFirst});
    CHECK(restarts == 9);
    interrupt({.signal = 15, .checkpoint = kFirst});
    CHECK(job.state == JobState::kFailed);
  }
  SECTION("with checkpoints between them") {
    for (int epoch = 100; epoch < 200; ++epoch) {
      const std::string checkpoint = history::checkpoint_name(static_cast<std::uint32_t>(epoch), epoch);
      interrupt({.signal = 9, .checkpoint = checkpoint});
      interrupt({.exit_code = 6, .checkpoint = checkpoint});
    }
    CHECK(restarts == 200);
  }
  SECTION("a retried job counts from the beginning") {
    for (int count = 1; count <= 4; ++count) interrupt({.signal = 9, .checkpoint = kFirst});
    REQUIRE(job.state == JobState::kFailed);
    job.interruptions = 0;  // as after_action() leaves it
    interrupt({.signal = 11, .checkpoint = kFirst});
    CHECK(job.cause == "signal 11 (Segmentation fault)");
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

}  // namespace esper::test::attempt_end_test
