#include "jobs/sweeps/sweep_expansion.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "config/loading/load.h"
#include "sweep_room.h"

namespace esper::test::sweep_expansion_test {

using namespace esper;
using namespace esper::jobs;
using namespace sweep_room;

TEST_CASE("a sweep is expanded into jobs with names, run folders and run files of their own") {
  SweepRoom room;
  const auto sweep = room.submit(kGrid, {.priority = 3, .gpus = 1});
  CHECK(sweep.id == 1);
  CHECK(sweep.jobs == std::map<std::string, std::int64_t>{{"held", 4}});
  CHECK(room.queued() == std::vector<JobId>{1, 2, 3, 4});
  const Job job = *room.jobs.find(3);
  CHECK(job.name == "rates-1-seed-1");
  CHECK(job.run_dir == sweep.run_dir + "/0001-seed-1");
  CHECK(job.priority == 3);
  CHECK(job.needs.gpus == 1);
  CHECK(job.sweep == 1);
  CHECK(job.reason.empty());
  const auto config = config::read_run_config_text(room.sweeps.stored().run_file_of(job), "run.yaml");
  REQUIRE(config.problems.empty());
  CHECK(config.config.training.optimizer.lr == 0.2);
  CHECK(config.config.seed == 1);
  CHECK(config.config.epochs == 9);
}

TEST_CASE("each sweep has a folder of its own for its runs, whatever else has its name") {
  SweepRoom room;
  const auto first = room.submit(kGrid);
  CHECK(room.submit(kGrid).run_dir == first.run_dir + "-2");
  std::filesystem::create_directories(first.run_dir + "-3");
  CHECK(room.submit(kGrid).run_dir == first.run_dir + "-4");
}

TEST_CASE("a sweep of ten thousand jobs is stored and read") {
  SweepRoom room;
  std::string text = "config: run.yaml\nmax_running: 3\nseeds: 1..10\nparameters:\n  training.optimizer.lr: [";
  for (int value = 1; value <= 1000; ++value) text += (value == 1 ? "0." : ", 0.") + std::to_string(1000 + value);
  const auto sweep = room.submit(text + "]\n");
  CHECK(sweep.jobs.at("held") == 10'000);
  CHECK(room.queued() == std::vector<JobId>{1, 2, 3});
  CHECK(room.sweeps.stored().report(1).summary.rows.size() == 1000);
}

TEST_CASE("a job needs the threads of its configuration, where these are a parameter of its sweep") {
  SweepRoom room;
  room.submit("config: run.yaml\nparameters: {device.threads: [1, 2]}\n");
  CHECK(room.jobs.find(1)->needs.threads == 1);
  CHECK(room.jobs.find(2)->needs.threads == 2);
}

}  // namespace esper::test::sweep_expansion_test
