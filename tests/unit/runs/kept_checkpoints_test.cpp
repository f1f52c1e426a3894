#include "runs/kept_checkpoints.h"

#include <catch2/catch_test_macros.hpp>

#include "run_room.h"
#include "runs/read_run_record.h"

using namespace esper::runs::test;

namespace esper::runs::kept_checkpoints_test {
namespace {

std::vector<std::string> needs_of(const std::vector<RunCheckpoint>& checkpoints) {
  std::vector<std::string> needs;
  for (const auto& one : checkpoints) needs.push_back(one.needed);
  return needs;
}

RunRecord fork_of(const std::string& parent, int epoch, const std::string& path) {
  RunRecord fork;
  fork.path = path;
  fork.parent = parent;
  fork.parent_checkpoint = RunFolder::checkpoint_name(epoch);
  return fork;
}

}  // namespace

TEST_CASE("the last and the best checkpoint are needed, and those that links and forks refer to") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  for (int epoch : {3, 4, 5, 6, 7}) run.add_checkpoint(epoch, 1, 1);
  // From the third on the best one was epoch 2.
  for (int epoch : {3, 4, 5, 6, 7}) {
    const std::string file = run.checkpoint(epoch) + "/run.json";
    auto state = json::parse(std::ifstream(file));
    state["progress"]["best"]["epoch"] = 2;
    write_text(file, state.dump());
  }
  fs::create_directory_symlink(RunFolder::checkpoint_name(4), run.path + "/checkpoints/latest");
  fs::create_directory_symlink("checkpoints/" + RunFolder::checkpoint_name(6) + "/", run.path + "/mine");
  const auto record = read_run_record(run.path);
  const auto fork = fork_of(run.path, 3, "/elsewhere/fork");
  const auto checkpoints = read_checkpoints(record, {record, fork});
  CHECK(needs_of(checkpoints) == std::vector<std::string>{"", "the best", "the fork /elsewhere/fork began with it",
                                                          "a link refers to it", "", "a link refers to it",
                                                          "the last"});
  CHECK(checkpoints[0].name == RunFolder::checkpoint_name(1));
  CHECK(checkpoints[0].bytes > 1000);
  CHECK(checkpoints[0].bytes < 3000);
}

TEST_CASE("a fork is of its parent by whatever path either is named") {
  const esper::test::TemporaryFolder room;
  fs::create_directories(room / "scratch/first");
  fs::create_directory_symlink(room / "scratch", room / "runs");
  RunRecord run;
  run.path = room / "runs/first";
  CHECK(is_fork_of(fork_of(room / "scratch/first", 1, room / "elsewhere/fork"), run));
  CHECK_FALSE(is_fork_of(fork_of(room / "scratch/second", 1, room / "elsewhere/fork"), run));
}

TEST_CASE("a fork is of the run whose folder it names, or of one of that name beside it") {
  RunRecord run;
  run.path = "/runs/first";
  CHECK(is_fork_of(fork_of("/runs/first", 1, "/other/fork"), run));
  CHECK(is_fork_of(fork_of("/before/first", 1, "/runs/fork"), run));
  CHECK_FALSE(is_fork_of(fork_of("/before/first", 1, "/other/fork"), run));
  CHECK_FALSE(is_fork_of(fork_of("/runs/second", 1, "/runs/fork"), run));
  CHECK_FALSE(is_fork_of(fork_of("/runs/first", 1, "/runs/first"), run));
  CHECK_FALSE(is_fork_of(fork_of("", 1, "/runs/fork"), run));
}

TEST_CASE("a run without checkpoints has none") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  fs::remove_all(run.path + "/checkpoints");
  CHECK(read_checkpoints(read_run_record(run.path), {}).empty());
}

}  // namespace esper::runs::kept_checkpoints_test
