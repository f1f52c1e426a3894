#include "runs/find_runs.h"

#include <catch2/catch_test_macros.hpp>

#include "run_room.h"

using namespace esper::runs::test;

namespace esper::runs::find_runs_test {

using Paths = std::vector<std::string>;

TEST_CASE("runs are found in folders of folders, each once, and not within one another") {
  const esper::test::TemporaryFolder room;
  const RunFolder a(room / "a"), b(room / "study/group/b"), deep(room / "1/2/3/deep"), deeper(room / "1/2/3/4/deeper");
  const RunFolder inner(room / "a/inner");
  CHECK(find_runs({room.path()}).folders == Paths{room / "1/2/3/deep", room / "a", room / "study/group/b"});
  CHECK(find_runs({room.path() + "//", room / "study", room / "a"}).folders.size() == 3);
  CHECK(find_runs({room / "a"}).folders == Paths{room / "a"});
}

TEST_CASE("links are not followed but where the user names one, and loops end") {
  const esper::test::TemporaryFolder room, elsewhere;
  const RunFolder run(elsewhere / "run");
  fs::create_directory_symlink(elsewhere.path(), room / "link");
  fs::create_directory_symlink(room.path(), room / "loop");
  CHECK(find_runs({room.path()}).folders.empty());
  CHECK(find_runs({room / "link"}).folders == Paths{room / "link/run"});
}

TEST_CASE("a folder is a run's by what a run makes in it") {
  const esper::test::TemporaryFolder room;
  write_text(room / "project/config.yaml", "a: b\n");
  write_text(room / "hub/checkpoints/model.pt", "");
  write_text(room / "locked/lock", "");
  CHECK_FALSE(is_run_folder(room / "project"));
  CHECK_FALSE(is_run_folder(room / "hub"));
  CHECK_FALSE(is_run_folder(room / "locked"));
  CHECK_FALSE(is_run_folder(room / "nothing"));
  fs::create_directories(room / "locked/checkpoints");
  CHECK(is_run_folder(room / "locked"));
  write_text(room / "project/summary.json", "");
  CHECK(is_run_folder(room / "project"));
  fs::create_directories(room / "links");
  for (const char* name : {"lock", "config.yaml"}) fs::create_symlink("/etc/hostname", room.path() + "/links/" + name);
  CHECK_FALSE(is_run_folder(room / "links"));
}

TEST_CASE("a root that is not there is a problem, and the others are searched") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const auto found = find_runs({room / "nothing", room.path()});
  CHECK(found.folders.size() == 1);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0] == room / "nothing: No such file or directory");
}

}  // namespace esper::runs::find_runs_test
