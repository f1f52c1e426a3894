#include "jobs/job/job_actions.h"

#include <catch2/catch_test_macros.hpp>

#include "base/names.h"
#include "jobs/job/job_states.h"

namespace esper::test::job_actions_test {

using namespace esper;
using namespace esper::jobs;

namespace {

Job job_in(JobState state) { return {.id = 7, .state = state, .interruptions = 3, .ended_ms = 5}; }

}  // namespace

TEST_CASE("an action leads only to states that may follow, and is refused with the job's state elsewhere") {
  for (const auto& [state, state_name] : names(JobState{})) {
    for (const auto& [action, action_name] : names(JobAction{})) {
      CAPTURE(state_name, action_name);
      const auto after = after_action(job_in(state), action, 99);
      if (after) {
        CHECK((after->state == state || may_move(state, after->state)));
      } else {
        CHECK(after.error().find(state_name) != std::string::npos);
      }
    }
  }
}

TEST_CASE("what is cancelled before it ran has ended, and what runs is stopped for that") {
  for (const auto state : {JobState::kHeld, JobState::kQueued, JobState::kPaused}) {
    const auto job = after_action(job_in(state), JobAction::kCancel, 99);
    REQUIRE(job);
    CHECK(job->state == JobState::kCancelled);
    CHECK(job->ended_ms == 99);
  }
  for (const auto state : {JobState::kStarting, JobState::kRunning}) {
    const auto job = after_action(job_in(state), JobAction::kCancel, 99);
    REQUIRE(job);
    CHECK(job->state == JobState::kStopping);
    CHECK(job->purpose == StopPurpose::kCancel);
  }
}

TEST_CASE("a stop that makes room can become a pause or a cancellation, and a cancellation stays one") {
  Job job = job_in(JobState::kStopping);
  job.purpose = StopPurpose::kYield;
  const auto paused = after_action(job, JobAction::kPause, 99);
  REQUIRE(paused);
  CHECK(paused->purpose == StopPurpose::kPause);
  const auto cancelled = after_action(*paused, JobAction::kCancel, 99);
  REQUIRE(cancelled);
  CHECK(cancelled->purpose == StopPurpose::kCancel);
  CHECK(!after_action(*cancelled, JobAction::kPause, 99));
}

TEST_CASE("only what ended without success is retried, and its interruptions count from 0") {
  const auto job = after_action(job_in(JobState::kFailed), JobAction::kRetry, 99);
  REQUIRE(job);
  CHECK(job->state == JobState::kQueued);
  CHECK(job->interruptions == 0);
  CHECK(job->ended_ms == 0);
  CHECK(!after_action(job_in(JobState::kSucceeded), JobAction::kRetry, 99));
}

}  // namespace esper::test::job_actions_test
