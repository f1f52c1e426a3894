#include "storage/file_tools.h"

#include <fmt/core.h>

#include <array>
#include <barrier>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <thread>

#include "storage/bytes.h"
#include "storage/confined_file_system.h"
#include "storage/real_file_system.h"
#include "support/faults/faulty_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::file_tools_test {

using namespace esper::storage;
using esper::base::IoError;
using esper::base::PathKind;
using esper::test::FaultyFileSystem;
using esper::test::PowerLoss;
using esper::test::TemporaryFolder;

TEST_CASE("the parent of a path") {
  CHECK(parent_of("a/b/c") == "a/b");
  CHECK(parent_of("a/b/c/") == "a/b");
  CHECK(parent_of("a//b") == "a");
  CHECK(parent_of("c") == ".");
  CHECK(parent_of("/c") == "/");
  CHECK(parent_of("/") == "/");
}

TEST_CASE("folders are made with their parents and survive a power loss") {
  FaultyFileSystem files;
  ensure_folder(files, "runs/digits/checkpoints");
  ensure_folder(files, "runs/digits/checkpoints");
  files.lose_power(PowerLoss::kDropAll);
  CHECK(files.kind_of("runs/digits/checkpoints") == PathKind::kFolder);
}

TEST_CASE("two runs whose folders have the same parents may begin at the same moment") {
  TemporaryFolder folder;
  constexpr int kRounds = 300;
  std::barrier together(2);
  std::array<std::string, 2> problem;
  const auto make = [&](int who) {
    for (int round = 0; round < kRounds; ++round) {
      const std::string run = folder / fmt::format("{}/runs/task/run-{}", round, who);
      ConfinedFileSystem files(run, Owner::kAnyone);
      together.arrive_and_wait();
      try {
        ensure_folder(files, run);
      } catch (const std::exception& error) {
        problem.at(who) = error.what();
      }
    }
  };
  std::thread other(make, 1);
  make(0);
  other.join();
  CHECK(problem[0] == "");
  CHECK(problem[1] == "");
}

TEST_CASE("a file where the folder of a run should be is an error that says so") {
  TemporaryFolder folder;
  real_file_system().open(folder / "runs", esper::base::OpenMode::kReplace);
  ConfinedFileSystem files(folder / "runs/run-1", Owner::kAnyone);
  CHECK_THROWS_WITH(ensure_folder(files, folder / "runs/run-1"),
                    Catch::Matchers::ContainsSubstring(folder / "runs" + ": Not a directory"));
}

TEST_CASE("a file where a folder should be is an error") {
  FaultyFileSystem files;
  files.put("runs", "a file");
  CHECK_THROWS_AS(ensure_folder(files, "runs"), IoError);
}

TEST_CASE("a name that is taken by a link is not free") {
  TemporaryFolder folder;
  std::filesystem::create_symlink("nowhere", folder / "name");
  ConfinedFileSystem files(folder.path(), Owner::kAnyone);
  CHECK(free_name(files, folder / "name") == folder / "name-2");
  CHECK(free_name(files, folder / "other") == folder / "other");
}

TEST_CASE("removing a folder does not follow links out of it") {
  TemporaryFolder folder;
  auto& files = real_file_system();
  ensure_folder(files, folder / "keep");
  files.open(folder / "keep/file", esper::base::OpenMode::kReplace).write(bytes_of("x"));
  ensure_folder(files, folder / "gone/inner");
  std::filesystem::create_directory_symlink(folder / "keep", folder / "gone/inner/link");
  remove_all(files, folder / "gone");
  remove_all(files, folder / "gone");
  CHECK(files.kind_of(folder / "gone") == PathKind::kNothing);
  CHECK(files.kind_of(folder / "keep/file") == PathKind::kFile);
}

TEST_CASE("a file over the limit is not read") {
  FaultyFileSystem files;
  files.put("big", std::string(100, 'x'));
  CHECK(read_file(files, "big", 100).size() == 100);
  try {
    read_file(files, "big", 99);
    FAIL("read it");
  } catch (const IoError& error) {
    CHECK(error.error_number() == EFBIG);
  }
}

TEST_CASE("a free name counts up") {
  FaultyFileSystem files;
  CHECK(free_name(files, "a.bad") == "a.bad");
  files.put("a.bad", "");
  files.put("a.bad-2", "");
  CHECK(free_name(files, "a.bad") == "a.bad-3");
}

}  // namespace esper::test::file_tools_test
