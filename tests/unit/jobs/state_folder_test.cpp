#include "jobs/daemon/state_folder.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <fstream>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace esper::test::state_folder_test {

using namespace esper;

namespace {

int mode_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return static_cast<int>(status.st_mode & 07777);
}

std::string folder_of_mode(const test::TemporaryFolder& room, mode_t mode) {
  const std::string path = room / "state";
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

}  // namespace

TEST_CASE("a folder that is not there is made for its user alone, and so are no folders above it") {
  const test::TemporaryFolder room;
  const mode_t before = ::umask(022);
  jobs::make_state_folder(room / "a/b/state");
  ::umask(before);
  CHECK(mode_of(room / "a/b/state") == 0700);
  CHECK(mode_of(room / "a/b") == 0755);
  jobs::make_state_folder(room / "a/b/state");
  jobs::make_state_folder(room / "a/b/other/");
  CHECK(mode_of(room / "a/b/other") == 0700);
}

TEST_CASE("a folder that is another's is left as it is, and refused with the way out") {
  const test::TemporaryFolder room;
  const std::string path = folder_of_mode(room, GENERATE(0755, 0710, 01777));
  const int before = mode_of(path);
  try {
    jobs::make_state_folder(path);
    FAIL("it was taken");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kConfig);
    CHECK(std::string(error.what()).find("chmod 700 " + path) != std::string::npos);
  }
  CHECK(mode_of(path) == before);
}

TEST_CASE("a folder that the daemon has used, or that has its configuration, is closed to others") {
  const test::TemporaryFolder room;
  const std::string path = folder_of_mode(room, 0755);
  std::ofstream(path + "/" + std::string(GENERATE("jobs.db", "lock", "daemon.yaml", "daemon.log"))) << "";
  jobs::make_state_folder(path);
  CHECK(mode_of(path) == 0700);
}

}  // namespace esper::test::state_folder_test
