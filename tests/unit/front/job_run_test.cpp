#include "esper/queue/job_run.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "history/setting_change.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::job_run_test {

TEST_CASE("a job's planned epochs are its sweep's, else those that its run accepted, else those of config.yaml") {
  const test::TemporaryFolder room;
  const std::string run = room / "run";
  nlohmann::json job{{"run_dir", run}, {"epochs", 0}};
  CHECK_FALSE(run_of_job(job));
  std::filesystem::create_directories(run + "/checkpoints");
  CHECK_FALSE(run_of_job(job));
  std::ofstream(run + "/config.yaml") << "epochs: 9\n";
  REQUIRE(run_of_job(job));
  CHECK(run_of_job(job)->planned_epochs == 9);
  history::publish_accepted(storage::real_file_system(), run, {{2, "epochs", "5", 1}});
  CHECK(run_of_job(job)->planned_epochs == 5);
  std::ofstream(run + "/changes/accepted.json") << "{";
  CHECK_FALSE(run_of_job(job)->planned_epochs);
  job["epochs"] = 3;
  CHECK(run_of_job(job)->planned_epochs == 3);
}

TEST_CASE("until a run folder has its configuration, the run file's epochs are planned") {
  const test::TemporaryFolder room;
  const std::string run = room / "run";
  const nlohmann::json job{{"run_dir", run}, {"epochs", 0}};
  CHECK(planned_epochs_of(job, 7) == 7);
  std::filesystem::create_directories(run + "/checkpoints");
  std::ofstream(run + "/lock") << "1\n";
  REQUIRE(run_of_job(job));
  CHECK(planned_epochs_of(job, 7) == 7);
  std::ofstream(run + "/config.yaml") << "epochs: 9\n";
  CHECK(planned_epochs_of(job, 7) == 9);
}

TEST_CASE("where what a run accepted cannot be read, its planned epochs are unknown, but for those of a sweep") {
  const test::TemporaryFolder room;
  const std::string run = room / "run";
  std::filesystem::create_directories(run + "/checkpoints");
  std::filesystem::create_directories(run + "/changes");
  std::ofstream(run + "/config.yaml") << "epochs: 9\n";
  std::ofstream(run + "/changes/accepted.json") << "{";
  nlohmann::json job{{"run_dir", run}, {"epochs", 0}};
  CHECK(planned_epochs_of(job, 7) == 0);
  job["epochs"] = 3;
  CHECK(planned_epochs_of(job, 7) == 3);
}

}  // namespace esper::test::job_run_test
