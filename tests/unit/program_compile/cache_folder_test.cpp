#include "program/cache/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "storage/confined_file_system.h"
#include "support/files.h"
#include "support/temporary_folder.h"

namespace esper::program::cache_folder_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::mode_of;
namespace fs = std::filesystem;

}  // namespace

TEST_CASE("the cache folder is made for its user alone") {
  const test::TemporaryFolder folder;
  const auto made = private_cache_folder(folder / "a/b");
  REQUIRE(made);
  CHECK(*made == folder / "a/b");
  CHECK(mode_of(*made) == 0700);
  REQUIRE(private_cache_folder(folder / "a/b"));  // again
}

TEST_CASE("a folder that is there keeps the mode that its user gave it") {
  const test::TemporaryFolder folder;
  ::mkdir((folder / "mine").c_str(), 0700);
  ::chmod((folder / "mine").c_str(), 0755);
  REQUIRE(private_cache_folder(folder / "mine"));
  CHECK(mode_of(folder / "mine") == 0755);
}

TEST_CASE("a folder above that others can write to is refused, unless it is sticky") {
  const test::TemporaryFolder folder;
  ::mkdir((folder / "shared").c_str(), 0700);
  ::mkdir((folder / "shared/mine").c_str(), 0700);
  const auto with_mode = [&](mode_t mode) {
    ::chmod((folder / "shared").c_str(), mode);
    return private_cache_folder(folder / "shared/mine/programs");
  };
  CHECK(with_mode(0755));
  CHECK(with_mode(01777));
  CHECK(with_mode(0775));  // the user's own group
  const auto refused = with_mode(0777);
  REQUIRE_FALSE(refused);
  INFO(refused.error());
  CHECK(refused.error().find("others can write to " + (folder / "shared") + ",") != std::string::npos);
  CHECK(refused.error().find("--cache-dir or ESPER_CACHE") != std::string::npos);
  // A link does not hide what it leads through.
  REQUIRE(::symlink((folder / "shared/mine").c_str(), (folder / "link").c_str()) == 0);
  CHECK_FALSE(private_cache_folder(folder / "link/programs"));
  CHECK(with_mode(0700));
}

TEST_CASE("a folder above of another user is refused") {
  if (::geteuid() != 0) SKIP("only root can give a folder away");
  const test::TemporaryFolder folder;
  ::mkdir((folder / "theirs").c_str(), 0755);
  REQUIRE(::chown((folder / "theirs").c_str(), 12345, 12345) == 0);
  const auto refused = private_cache_folder(folder / "theirs/programs");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().find("belongs to another user") != std::string::npos);
}

TEST_CASE("a folder that others can write to is refused") {
  const test::TemporaryFolder folder;
  ::mkdir((folder / "open").c_str(), 0700);
  ::chmod((folder / "open").c_str(), 0777);
  const auto made = private_cache_folder(folder / "open");
  CHECK_FALSE(made);
  CHECK(made.error().find("others can write") != std::string::npos);
}

TEST_CASE("all levels that are made are this user's alone, whatever the umask") {
  const test::TemporaryFolder folder;
  for (const mode_t mask : {0000, 0277, 0777}) {
    const mode_t before = ::umask(mask);
    const std::string top = folder / ("mask-" + std::to_string(mask));
    const auto made = private_cache_folder(top + "/a/b");
    ::umask(before);
    REQUIRE(made);
    for (const char* below : {"", "/a", "/a/b"}) CHECK(mode_of(top + below) == 0700);
  }
}

TEST_CASE("the folder is named without links, so that none can be exchanged later") {
  const test::TemporaryFolder folder;
  ::mkdir((folder / "real").c_str(), 0700);
  REQUIRE(::symlink((folder / "real").c_str(), (folder / "link").c_str()) == 0);
  CHECK(*private_cache_folder(folder / "link") == folder / "real");
}

TEST_CASE("the environment names the folder when the command line does not") {
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

TEST_CASE("a folder below the cache's that is not its user's alone is found before anything is asked of it") {
  const test::TemporaryFolder folder;
  const std::string cache = *private_folder(folder / "cache"), headers = cache + "/worker/2.11.0/headers";
  const auto problem = [&] {
    storage::ConfinedFileSystem files(cache, storage::Owner::kThisUser);
    return check_below(files, cache).error_or("");
  };
  CHECK(problem().empty());  // nothing is there yet
  for (const char* name : {"entries", "used", "choices", "quarantine", "compiling"}) {
    REQUIRE(private_folder(cache + "/" + name));
  }
  REQUIRE(private_folder(headers));
  std::ofstream(headers + "/header.h");
  CHECK(problem().empty());
  for (const char* name :
       {"entries", "used", "choices", "quarantine", "compiling", "worker", "worker/2.11.0", "worker/2.11.0/headers"}) {
    const std::string path = cache + "/" + name, aside = folder / "aside";
    CAPTURE(path);
    ::chmod(path.c_str(), 0770);
    CHECK_THAT(problem(), ContainsSubstring(path + " cannot be used: a group can write to it; chmod go-w") &&
                              ContainsSubstring("--cache-dir"));
    ::chmod(path.c_str(), 0700);
    fs::rename(path, aside);
    fs::create_directory_symlink(aside, path);
    CHECK_THAT(problem(),
               ContainsSubstring(path + " cannot be used: it is a symbolic link") && !ContainsSubstring("chmod"));
    fs::remove(path);
    fs::rename(aside, path);
  }
  fs::remove(cache + "/used");
  std::ofstream(cache + "/used") << "no folder";
  CHECK_THAT(problem(), ContainsSubstring("/used is not a folder"));
}

}  // namespace esper::program::cache_folder_test
