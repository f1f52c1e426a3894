#include "program/compile/loading_folder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/environment_variable.h"
#include "support/temporary_folder.h"

namespace esper::program::loading_folder_test {

TEST_CASE("what is put into a loading folder is there until the folder goes") {
  const test::TemporaryFolder temporary;
  const test::EnvironmentVariable files("TMPDIR", temporary.path());
  std::string path;
  {
    const LoadingFolder folder;
    path = folder.put("a.so", "code");
    CHECK(path == folder.path() + "/a.so");
    std::ifstream in(path);
    CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "code");
    CHECK_THROWS(folder.put("a.so", "again"));
    CHECK(sweep_loading_folders() == 0);  // in use
    CHECK(std::filesystem::exists(path));
  }
  CHECK(std::filesystem::is_empty(temporary.path()));
}

TEST_CASE("what a killed process left is swept, and nothing else") {
  const test::TemporaryFolder temporary;
  const test::EnvironmentVariable files("TMPDIR", temporary.path());
  std::filesystem::create_directory(temporary / "of somebody else");
  std::ofstream(temporary / "esper-loading-is-a-file") << "x";
  const LoadingFolder mine;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const LoadingFolder theirs;
    theirs.put("a.so", "code");
    if (::write(ends[1], "x", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char byte;
  REQUIRE(::read(ends[0], &byte, 1) == 1);
  CHECK(sweep_loading_folders() == 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(sweep_loading_folders() == 1);
  CHECK(std::filesystem::exists(mine.path()));
  CHECK(std::distance(std::filesystem::directory_iterator(temporary.path()), {}) == 3);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace esper::program::loading_folder_test
