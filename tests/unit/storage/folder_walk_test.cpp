#include "storage/folder_walk.h"

#include <fcntl.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "support/temporary_folder.h"

namespace esper::storage::folder_walk_test {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> paths_of(const FolderWalk& walk) {
  std::vector<std::string> paths;
  for (const auto& entry : walk.entries) paths.push_back(entry.path);
  return paths;
}

}  // namespace

TEST_CASE("a walk lists a folder before what it holds, sorted, with sizes and without following links") {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "b/inner");
  std::ofstream(folder / "b/inner/deep") << std::string(5000, 'x');
  std::ofstream(folder / "a") << "abc";
  fs::create_directory_symlink("..", folder / "b/up");
  fs::create_symlink("/etc/passwd", folder / "c");
  const auto walk = walk_folder(folder.path());
  CHECK(walk.incomplete.empty());
  CHECK(paths_of(walk) == std::vector<std::string>{"a", "b", "b/inner", "b/inner/deep", "b/up", "c"});
  CHECK(walk.entries[0].bytes == 3);
  CHECK(walk.entries[3].bytes == 5000);
  CHECK(walk.entries[4].is_link);
  CHECK(walk.entries[5].kind == base::PathKind::kOther);
  CHECK(bytes_of(walk) == 5003);
  CHECK(paths_of(walk_folder(folder.path(), {.depth = 1})) == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE(
    "a folder that is open is listed through its descriptor, with times of its folders only where they are wanted") {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "b/inner");
  std::ofstream(folder / "a") << "abc";
  const auto listed = [&](WalkLimits limits) {
    const base::Descriptor opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(opened.is_open());
    return walk_folder(opened, limits);
  };
  const auto timed = listed({}), untimed = listed({.folder_times = false});
  CHECK(paths_of(timed) == std::vector<std::string>{"a", "b", "b/inner"});
  CHECK(paths_of(untimed) == paths_of(timed));
  CHECK(timed.entries[1].modified_ns > 0);
  CHECK(untimed.entries[1].modified_ns == 0);
  CHECK(untimed.entries[1].kind == base::PathKind::kFolder);
  CHECK(untimed.entries[1].inode == timed.entries[1].inode);
  CHECK(untimed.entries[0].modified_ns == timed.entries[0].modified_ns);
}

TEST_CASE("a file with holes counts what it takes on the disk") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "sparse").put('x');
  fs::resize_file(folder / "sparse", 1ull << 40);
  CHECK(bytes_of(walk_folder(folder.path())) < 1 << 20);
}

TEST_CASE("a walk ends at its limits, and says so") {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "1/2/3/4");
  CHECK(walk_folder(folder.path(), {.depth = 5}).incomplete.empty());
  const auto shallow = walk_folder(folder.path(), {.depth = 3});
  CHECK(shallow.entries.size() == 3);
  CHECK(shallow.incomplete == "it is nested more than 3 deep");
  for (int i = 0; i < 20; ++i) std::ofstream(folder / ("file" + std::to_string(i)));
  const auto few = walk_folder(folder.path(), {.entries = 10});
  CHECK(few.entries.size() == 10);
  CHECK(few.incomplete == "it holds more than 10 files");
  CHECK_THROWS_AS(walk_folder(folder / "nothing"), base::IoError);
}

}  // namespace esper::storage::folder_walk_test
