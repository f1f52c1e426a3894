#include "jobs/sweeps/sweeps.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "sweep_room.h"

namespace esper::test::sweeps_test {

using namespace esper;
using namespace esper::jobs;
using namespace sweep_room;
using Catch::Matchers::ContainsSubstring;
using S = JobState;

TEST_CASE("with halving a job is paused at its rung, goes on when it is among the best, and ends at the last") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued() == std::vector<JobId>{1, 2, 3, 4});
  CHECK(room.jobs.find(1)->epochs == 1);
  room.end(1, 0.5);
  room.end(2, 0.6);
  CHECK(room.state_of(1) == S::kPaused);
  CHECK(room.jobs.find(1)->ended_ms == 0);
  CHECK(room.queued() == std::vector<JobId>{2, 3, 4});
  CHECK(room.jobs.find(2)->epochs == 2);
  room.end(3, 0.9);
  room.end(4, 0.1);
  CHECK(room.queued() == std::vector<JobId>{2, 3});
  room.end(2, 0.7);
  room.end(3, 0.95);
  CHECK(room.queued() == std::vector<JobId>{3});
  CHECK(room.jobs.find(3)->epochs == 4);
  CHECK(room.store.find(1)->state == SweepState::kActive);
  room.end(3, 0.97);
  CHECK(room.queued().empty());
  CHECK(room.store.find(1)->state == SweepState::kEnded);
  CHECK(room.state_of(3) == S::kSucceeded);
  for (const JobId id : {1, 2, 4}) CHECK(room.state_of(id) == S::kPaused);
  const auto summary = room.sweeps.stored().report(1).summary;
  CHECK(summary.rows[0].configuration == 2);
  CHECK(summary.rows[0].epochs == 4);
  CHECK(summary.rows[0].mean == 0.97);
  CHECK(summary.rows[1].epochs == 2);
}

TEST_CASE("a daemon that is killed after a result is stored decides when it comes back, and once") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.end(2, 0.6);
  Sweeps next(room.jobs);
  CHECK(next.drive(7).empty());
  next.recover();
  const auto changed = next.drive(7);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].id == 2);
  CHECK(changed[0].epochs == 2);
  next.recover();
  CHECK(next.drive(7).empty());
}

TEST_CASE("what a sweep leaves paused says so when it has ended, and trains to the last rung if its user resumes it") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.end(2, 0.6);
  room.end(3, 0.9);
  room.end(4, 0.1);
  REQUIRE(room.queued() == std::vector<JobId>{2, 3});
  room.end(2, 0.7);
  room.end(3, 0.95);
  REQUIRE(room.queued() == std::vector<JobId>{3});
  CHECK(room.jobs.find(1)->ended_ms == 0);
  room.end(3, 0.97);
  CHECK(room.sweeps.drive(7).size() == 3);
  REQUIRE(room.store.find(1)->state == SweepState::kEnded);
  for (const JobId id : {1, 2, 4}) {
    CHECK(room.state_of(id) == S::kPaused);
    CHECK(room.jobs.find(id)->ended_ms == 7);
  }
  CHECK(room.jobs.find(2)->reason ==
        "trained to epoch 2; its sweep has ended without it: esper job resume 2 continues it");
  room.sweeps.touch(1);
  CHECK(room.sweeps.drive(8).empty());

  room.act(1, JobAction::kResume);
  SECTION("the daemon goes on") {}
  SECTION("the daemon is killed before its sweep has seen that") {
    Sweeps next(room.jobs);
    next.recover();
    CHECK(next.drive(7).size() == 1);
  }
  CHECK(room.queued() == std::vector<JobId>{1});
  CHECK(room.jobs.find(1)->epochs == 4);
  CHECK(room.jobs.find(1)->ended_ms == 0);
  CHECK(room.store.find(1)->state == SweepState::kActive);
  room.end(1, 0.99);
  CHECK(room.state_of(1) == S::kSucceeded);
  CHECK(room.queued().empty());
  CHECK(room.store.find(1)->state == SweepState::kEnded);
  const auto summary = room.sweeps.stored().report(1).summary;
  CHECK(summary.rows[0].configuration == 2);
  CHECK(summary.rows[0].mean == 0.97);

  REQUIRE(room.sweeps.cancel(1, kAsked));
  for (const JobId id : {2, 4}) CHECK(room.state_of(id) == S::kCancelled);
  CHECK(room.state_of(3) == S::kSucceeded);
  CHECK(!room.sweeps.cancel(1, kAsked));
}

TEST_CASE("a job of a cancelled sweep that is retried stays at its rung, and trains on if its user resumes it") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  REQUIRE(room.sweeps.cancel(1, kAsked));
  room.act(1, JobAction::kRetry);
  REQUIRE(room.queued() == std::vector<JobId>{1});
  room.end(1, 0.5);
  CHECK(room.state_of(1) == S::kPaused);
  CHECK(room.jobs.find(1)->ended_ms == 9);
  CHECK_THAT(room.jobs.find(1)->reason, ContainsSubstring("its sweep was cancelled: esper job resume 1"));
  room.act(1, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{1});
  CHECK(room.jobs.find(1)->epochs == 4);
  room.end(1, 0.6);
  CHECK(room.state_of(1) == S::kSucceeded);
  CHECK(room.store.find(1)->state == SweepState::kCancelled);
}

TEST_CASE("a job that its user paused as it reached its rung is not continued by its sweep") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.started(2);
  room.pause(2, S::kSucceeded);
  CHECK(room.state_of(2) == S::kPaused);
  CHECK(room.jobs.find(2)->reason == "trained to epoch 1; paused by the user");
  room.end(3, 0.1);
  room.end(4, 0.2);
  CHECK(room.queued() == std::vector<JobId>{1});
  CHECK(room.jobs.find(2)->ended_ms == 0);
  room.act(2, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{1, 2});
  CHECK(room.jobs.find(2)->epochs == 1);
  room.end(2, 0.9);
  CHECK(room.queued() == std::vector<JobId>{1, 2});
  CHECK(room.jobs.find(2)->epochs == 2);
}

TEST_CASE("a job that its user resumed at its rung and paused again is not continued by its sweep") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.act(1, JobAction::kResume);
  SECTION("while it ran") {
    REQUIRE(room.queued().size() == 4);
    room.started(1);
    room.pause(1, S::kPaused);
  }
  SECTION("before it ran") { room.act(1, JobAction::kHold); }
  room.end(2, 0.1);
  room.end(3, 0.2);
  CHECK(room.queued() == std::vector<JobId>{3, 4});
  CHECK(room.jobs.find(3)->epochs == 2);
  CHECK((room.state_of(1) == S::kPaused || room.state_of(1) == S::kHeld));
}

TEST_CASE("a job that its user let begin and held again is not begun by its sweep") {
  SweepRoom room;
  room.submit(kHalving + "max_running: 1\n");
  REQUIRE(room.queued() == std::vector<JobId>{1});
  room.act(3, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{1, 3});
  room.act(3, JobAction::kHold);
  room.end(1, 0.5);
  CHECK(room.queued() == std::vector<JobId>{2});
  room.end(2, 0.6);
  CHECK(room.queued() == std::vector<JobId>{2});
  room.end(2, 0.7);
  CHECK(room.queued() == std::vector<JobId>{4});
  room.end(4, 0.1);
  CHECK(room.queued().empty());
  CHECK(room.state_of(3) == S::kHeld);
  CHECK(room.store.find(1)->state == SweepState::kActive);
  room.act(3, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{3});
}

TEST_CASE("the audit log says who let jobs begin, and who cancelled them") {
  SweepRoom room;
  room.submit(kGrid + "max_running: 1\n");
  room.sweeps.drive(7);
  REQUIRE(room.sweeps.cancel(1, {.at_ms = 9, .uid = 1001, .what = "cancel sweep"}));
  int begun = 0, cancelled = 0;
  for (const AuditLine& line : read_audit(room.jobs.database(), 0, 100)) {
    if (!line.job) continue;
    if (line.state == "queued") {
      CHECK(line.what == "daemon");
      CHECK(line.uid == static_cast<std::int64_t>(::getuid()));
      ++begun;
    } else {
      CHECK(line.what == "cancel sweep");
      CHECK(line.uid == 1001);
      ++cancelled;
    }
  }
  CHECK(begun == 1);
  CHECK(cancelled == 4);
}

TEST_CASE("the same token is the same sweep") {
  SweepRoom room;
  CHECK(room.submit(kGrid, {.token = "a"}).id == 1);
  CHECK(room.submit(kGrid, {.token = "a"}).id == 1);
  CHECK(room.jobs.list({}).size() == 4);
  const auto other = room.submit(kGrid, {.token = "b"});
  CHECK(other.id == 2);
}

TEST_CASE("cancelling a sweep cancels what waits and stops what runs") {
  SweepRoom room;
  room.submit(kGrid + "max_running: 2\n");
  REQUIRE(room.queued() == std::vector<JobId>{1, 2});
  room.started(1);
  REQUIRE(room.sweeps.cancel(1, kAsked));
  CHECK(room.state_of(1) == S::kStopping);
  CHECK(room.jobs.find(1)->purpose == StopPurpose::kCancel);
  for (const JobId id : {2, 3, 4}) CHECK(room.state_of(id) == S::kCancelled);
  CHECK(room.sweeps.drive(7).size() == 4);
  CHECK(room.store.find(1)->state == SweepState::kCancelled);
  CHECK(!room.sweeps.cancel(1, kAsked));
  CHECK(!room.sweeps.cancel(2, kAsked));
}

TEST_CASE("a sweep that is held begins when its user lets it") {
  SweepRoom room;
  room.submit(kGrid, {.hold = true});
  CHECK(room.queued().empty());
  REQUIRE(room.sweeps.resume(1, kAsked));
  CHECK(room.queued().size() == 4);
  CHECK(!room.sweeps.resume(1, kAsked));
}

TEST_CASE("the jobs of a new sweep are reported once, also those that do not begin") {
  SweepRoom room;
  room.submit(kGrid, {.hold = true});
  const auto held = room.sweeps.drive(7);
  CHECK(held.size() == 4);
  for (const Job& job : held) CHECK(job.state == S::kHeld);
  CHECK(room.sweeps.drive(7).empty());
  REQUIRE(room.sweeps.resume(1, kAsked));
  CHECK(room.sweeps.drive(7).size() == 4);
  room.submit(kGrid + "max_running: 1\n");
  const auto made = room.sweeps.drive(7);
  REQUIRE(made.size() == 4);
  CHECK(made[0].state == S::kQueued);
  CHECK(made[1].state == S::kHeld);
}

TEST_CASE("a job that is retried makes its sweep active again") {
  SweepRoom room;
  room.submit("config: run.yaml\nparameters: {training.optimizer.lr: [0.1]}\n");
  REQUIRE(room.queued().size() == 1);
  room.end(1, 0, S::kFailed);
  room.sweeps.drive(7);
  CHECK(room.store.find(1)->state == SweepState::kEnded);
  Job job = *room.jobs.find(1);
  job.state = S::kQueued;
  room.jobs.save(job);
  room.sweeps.touch(1);
  room.sweeps.drive(7);
  CHECK(room.store.find(1)->state == SweepState::kActive);
  CHECK(room.store.find(1)->ended_ms == 0);
}

}  // namespace esper::test::sweeps_test
