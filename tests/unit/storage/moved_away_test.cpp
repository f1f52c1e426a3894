#include "storage/moved_away.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "storage/real_file_system.h"
#include "support/faults/faulty_file_system.h"
#include "support/files.h"
#include "support/temporary_folder.h"

namespace esper::storage::moved_away_test {

namespace fs = std::filesystem;

TEST_CASE("what was moved away comes back unless it was replaced") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/net";
  fs::create_directory(path);
  fs::create_directory(path + "/old");
  const auto entries = [&] { return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()); };
  {
    const MovedAway old(real_file_system(), path);
    CHECK_FALSE(fs::exists(path));
  }
  CHECK(fs::exists(path + "/old"));
  {
    MovedAway old(real_file_system(), path);
    fs::create_directory(path);
    old.set_replaced();
  }
  CHECK(fs::exists(path));
  CHECK_FALSE(fs::exists(path + "/old"));
  CHECK(entries() == 1);
}

TEST_CASE("what is removed at once goes in an order that its caller chooses, and what fails is reported") {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  fs::create_directories(path + "/checkpoints/one");
  fs::create_directories(path + "/config.yaml");
  {
    MovedAway away(real_file_system(), path);
    away.remove({"config.yaml"});
    CHECK(fs::is_empty(folder.path()));
  }
  test::FaultyFileSystem files;
  files.make_folder("run");
  files.make_folder("run/a");
  files.make_folder("run/b");
  MovedAway away(files, "run");
  files.fail_call(3, EIO);  // kind_of, list, then remove("a")
  CHECK_THROWS_AS(away.remove({"a"}), base::IoError);
}

}  // namespace esper::storage::moved_away_test
