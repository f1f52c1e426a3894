#include "jobs/sweeps/stored_sweeps.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "base/text/problem.h"
#include "config/loading/load.h"
#include "sweep_room.h"

namespace esper::test::stored_sweeps_test {

using namespace esper;
using namespace esper::jobs;
using namespace sweep_room;

TEST_CASE("results are stored with the ends of jobs, and the table has their means") {
  SweepRoom room;
  room.submit(kGrid);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  CHECK(!room.sweeps.stored().best(1));
  room.end(2, 0.7);
  room.end(3, 0.8);
  room.end(4, 0.9);
  std::filesystem::remove_all(room.folder / "runs");
  const auto report = room.sweeps.stored().report(1);
  REQUIRE(report.summary.rows.size() == 2);
  CHECK(report.summary.rows[0].configuration == 1);
  CHECK(report.summary.rows[0].mean == (0.8 + 0.9) / 2);
  CHECK(report.summary.rows[1].mean == (0.5 + 0.7) / 2);
  CHECK(report.sweep.state == SweepState::kActive);
  room.sweeps.drive(77);
  CHECK(room.store.find(1)->state == SweepState::kEnded);
  CHECK(room.store.find(1)->ended_ms == 77);
  const auto best = room.sweeps.stored().best(1);
  REQUIRE(best);
  CHECK(best->configuration == 1);
  CHECK(config::read_run_config_text(best->config, "best").config.training.optimizer.lr == 0.2);
}

TEST_CASE("a sweep of which a row was lost does not go on, and others do") {
  SweepRoom room;
  room.submit(kHalving);
  const auto lose = [&](const std::string& row) { room.jobs.database().run("DELETE FROM " + row); };
  SECTION("of a job's place") {
    lose("trials WHERE job = 2");
    CHECK_THROWS_AS(room.sweeps.stored().run_file_of(*room.jobs.find(2)), base::ConfigError);
  }
  SECTION("of a job") { lose("jobs WHERE id = 2"); }
  CHECK_THROWS_AS(room.sweeps.stored().report(1), base::ConfigError);
  room.submit(kGrid);
  CHECK(room.queued() == std::vector<JobId>{5, 6, 7, 8});
}

TEST_CASE("jobs whose sweep was lost are counted in no other, and have no run file") {
  SweepRoom room;
  for (int count = 0; count < 3; ++count) room.submit(kGrid);
  room.jobs.database().run("PRAGMA foreign_keys = OFF");
  room.jobs.database().run("DELETE FROM sweeps WHERE id = 2");
  const auto listed = room.store.list(1000);
  REQUIRE(listed.size() == 2);
  for (const auto& sweep : listed) CHECK(sweep.jobs == std::map<std::string, std::int64_t>{{"held", 4}});
  Sweeps next(room.jobs);
  CHECK_THROWS_AS(next.stored().run_file_of(*room.jobs.find(5)), base::ConfigError);
}

}  // namespace esper::test::stored_sweeps_test
