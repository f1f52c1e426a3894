#include "program/cache/cache_folder.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "unit/storage/temporary_folder.h"

namespace esper::program {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};
  ::stat(path.c_str(), &status);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("the cache folder is made for its user alone") {
  const test::TemporaryFolder folder;
  const auto made = private_cache_folder(folder / "a/b");
  REQUIRE(made);
  CHECK(*made == folder / "a/b");
  CHECK(mode_of(*made) == 0700);
  REQUIRE(private_cache_folder(folder / "a/b"));  // again
  ::chmod(made->c_str(), 0755);
  REQUIRE(private_cache_folder(folder / "a/b"));
  CHECK(mode_of(*made) == 0700);
}

TEST_CASE("a folder that others may write to is refused") {
  const test::TemporaryFolder folder;
  ::mkdir((folder / "open").c_str(), 0700);
  ::chmod((folder / "open").c_str(), 0777);
  const auto made = private_cache_folder(folder / "open");
  CHECK_FALSE(made);
  CHECK(made.problem.find("others may write") != std::string::npos);
}

TEST_CASE("the environment names the folder when the run file does not") {
  const test::TemporaryFolder folder;
  ::unsetenv("ESPER_CACHE");
  ::setenv("XDG_CACHE_HOME", (folder / "xdg").c_str(), 1);
  CHECK(*private_cache_folder("") == folder / "xdg/esper/programs");
  ::setenv("ESPER_CACHE", (folder / "own").c_str(), 1);
  CHECK(*private_cache_folder("") == folder / "own/programs");
  ::unsetenv("ESPER_CACHE");
  ::unsetenv("XDG_CACHE_HOME");
  CHECK_FALSE(private_cache_folder("/proc/nothing/here"));
}

}  // namespace esper::program
