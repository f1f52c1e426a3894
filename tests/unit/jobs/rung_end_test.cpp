#include "jobs/sweeps/rung_end.h"

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file_system.h"
#include "support/faults/no_more_files.h"
#include "sweep_room.h"

namespace esper::test::rung_end_test {

using namespace esper;
using namespace esper::jobs;
using namespace sweep_room;
using S = JobState;

TEST_CASE("the result of a rung is of its own epochs, whatever summary an earlier process left") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  for (const JobId id : {1, 2, 3, 4}) room.end(id, id == 2 ? 0.6 : 0.1 * static_cast<double>(id));
  REQUIRE(room.queued().front() == 2);
  const Job job = room.started(2);
  REQUIRE(job.epochs == 2);
  const auto result = [&] {
    room.save_end(job);
    const auto results = TrialStore(room.jobs.database()).find(2)->results;
    REQUIRE(results.size() == 2);
    return results[1];
  };
  SECTION("nothing is of this rung") { CHECK(std::isnan(result())); }
  SECTION("the process before was interrupted") {
    room.write_summary(job, "interrupted", 2, 0.65);
    CHECK(std::isnan(result()));
  }
  SECTION("it stopped early") {
    room.write_summary(job, "early_stopped", 1, 0.65);
    CHECK(result() == 0.65);
  }
  SECTION("it was set to more epochs") {
    room.write_summary(job, "done", 3, 0.65);
    CHECK(result() == 0.65);
  }
  SECTION("it cannot be read now") {
    room.write_summary(job, "done", 2, 0.65);
    {
      const test::NoMoreFiles none;
      CHECK_THROWS_AS(room.save_end(job), base::IoError);
    }
    CHECK(room.state_of(2) == S::kRunning);
    CHECK(result() == 0.65);
  }
  SECTION("the newest checkpoint is") {
    for (const int epoch : {1, 2}) {
      const std::string checkpoint =
          fmt::format("{}/checkpoints/epoch-{:04}-step-{:09}", job.run_dir, epoch, 10 * epoch);
      std::filesystem::create_directories(checkpoint);
      const nlohmann::json validation{{"by_metric", {{"accuracy", 0.5 + 0.1 * epoch}}}};
      const nlohmann::json progress{{"epoch", epoch}, {"validation", validation}};
      std::ofstream(checkpoint + "/run.json") << nlohmann::json{{"progress", progress}}.dump();
    }
    CHECK(result() == 0.5 + 0.1 * 2);
  }
}

TEST_CASE("a run without a figure is the worst of all") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  Job job = room.started(2);
  job.state = S::kSucceeded;
  room.sweeps.save_end(job, StopPurpose::kNone, {});
  CHECK(room.queued() == std::vector<JobId>{1, 3, 4});
  CHECK(room.state_of(2) == S::kPaused);
}

TEST_CASE("a job that was stopped for good at its rung is cancelled, and its result is kept") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  Job job = room.started(1);
  job.state = S::kStopping;
  job.purpose = StopPurpose::kCancel;
  room.jobs.save(job);
  job.state = S::kSucceeded;
  room.sweeps.save_end(job, StopPurpose::kCancel, {});
  CHECK(room.state_of(1) == S::kCancelled);
}

TEST_CASE("who continues a job that has stopped at its rung follows from what it was stopped for, and from its sweep") {
  Job job;
  job.id = 3;
  job.state = S::kSucceeded;
  job.epochs = 2;
  job.ended_ms = 9;
  SECTION("its sweep, where it is among the best") {
    stop_at_rung(job, StopPurpose::kNone, SweepState::kActive);
    CHECK(job.reason == "trained to epoch 2; goes on if it is among the best of its sweep");
    CHECK(job.ended_ms == 0);
  }
  SECTION("its user, who paused it") {
    stop_at_rung(job, StopPurpose::kPause, SweepState::kCancelled);
    CHECK(job.reason == "trained to epoch 2; paused by the user");
    CHECK(job.ended_ms == 0);
  }
  SECTION("its user, who cancelled its sweep") {
    stop_at_rung(job, StopPurpose::kYield, SweepState::kCancelled);
    CHECK(job.reason == "trained to epoch 2; its sweep was cancelled: esper job resume 3 continues it");
    CHECK(job.ended_ms == 9);
  }
  CHECK(job.state == S::kPaused);
}

}  // namespace esper::test::rung_end_test
