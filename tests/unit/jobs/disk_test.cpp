#include "jobs/machine/disk.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "support/temporary_folder.h"

namespace esper::test::disk_test {

using namespace esper::jobs;

TEST_CASE("a folder that is not there yet is on the file system of the nearest one above it") {
  const esper::test::TemporaryFolder folder;
  const auto disk = disk_of(folder.path());
  REQUIRE(disk);
  CHECK(disk->total_bytes > 0);
  CHECK(disk->free_bytes <= disk->total_bytes);
  const auto below = disk_of(folder / "runs/one");
  REQUIRE(below);
  CHECK(below->id == disk->id);
  CHECK(!std::filesystem::exists(folder / "runs"));
}

TEST_CASE("below a file there is no folder") { CHECK(!disk_of("/proc/self/status/run")); }

}  // namespace esper::test::disk_test
