#include "runs/remove_run.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_room.h"
#include "runs/run_stamp.h"
#include "storage/folder_lock.h"

using namespace esper::runs::test;
using Catch::Matchers::ContainsSubstring;

namespace esper::runs::remove_run_test {

TEST_CASE("a run is deleted with all that is in it, and nothing else, links included") {
  const esper::test::TemporaryFolder room, elsewhere;
  const RunFolder run(room / "run"), other(room / "run2");
  write_text(elsewhere / "precious", "x");
  fs::create_directory_symlink(elsewhere.path(), run.path + "/link");
  REQUIRE(remove_run(run.path + "/", read_run_stamp(run.path)));
  CHECK_FALSE(fs::exists(run.path));
  CHECK(fs::exists(other.path));
  CHECK(fs::exists(elsewhere / "precious"));
  CHECK(std::distance(fs::directory_iterator(room.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("what is in use, no run folder, a link or has changed is not deleted") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  {
    const auto lock = storage::try_lock_folder(storage::real_file_system(), run.path);
    CHECK_THAT(remove_run(run.path).error(), ContainsSubstring("is running: it is in use by process"));
  }
  CHECK_THAT(remove_run(run.path, "another stamp").error(), ContainsSubstring("changed meanwhile"));
  fs::create_directory_symlink(run.path, room / "link");
  CHECK_THAT(remove_run(room / "link").error(), ContainsSubstring("is a link"));
  CHECK_THAT(check_prunable(room / "link").error(), ContainsSubstring("is a link"));
  fs::create_directories(room / "folder");
  CHECK_THAT(remove_run(room / "folder").error(), ContainsSubstring("is not a run folder"));
  CHECK_THAT(remove_run(room / "nothing").error(), ContainsSubstring("is not a run folder"));
  CHECK(fs::exists(run.path + "/config.yaml"));
  CHECK(fs::exists(room / "folder"));
}

TEST_CASE("a run with another run in it is not deleted, and its checkpoints can be") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run"), within(room / "run/study/run");
  CHECK_THAT(remove_run(run.path).error(), ContainsSubstring("/run holds another run, " + within.path));
  CHECK(fs::exists(within.path));
  CHECK(remove_checkpoints(run.path, {RunFolder::checkpoint_name(1)}, read_run_stamp(run.path)));
  fs::rename(within.path, room / "other");
  CHECK(remove_run(run.path));
}

TEST_CASE("a run is deleted by a relative path, too") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const auto before = fs::current_path();
  fs::current_path(room.path());
  const auto removed = remove_run("run");
  fs::current_path(before);
  CHECK(removed);
  CHECK(fs::is_empty(room.path()));
}

TEST_CASE("checkpoints are deleted one by one") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const std::string stamp = read_run_stamp(run.path);
  CHECK_FALSE(remove_checkpoints(run.path, {"../../precious"}, stamp));
  REQUIRE(remove_checkpoints(run.path, {RunFolder::checkpoint_name(1)}, read_run_stamp(run.path)));
  CHECK_FALSE(fs::exists(run.checkpoint(1)));
  CHECK(fs::exists(run.checkpoint(2)));
  CHECK_THAT(remove_checkpoints(run.path, {RunFolder::checkpoint_name(2)}, stamp).error(),
             ContainsSubstring("changed meanwhile"));
}

}  // namespace esper::runs::remove_run_test
