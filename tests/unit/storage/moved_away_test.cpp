#include "storage/moved_away.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "storage/real_file_system.h"
#include "support/files.h"
#include "support/temporary_folder.h"

namespace esper::storage {

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

}  // namespace esper::storage
