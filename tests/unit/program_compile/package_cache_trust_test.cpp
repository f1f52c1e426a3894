// Native code from elsewhere: what another user, or an archive that this user unpacked, puts into the cache is not
// loaded.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <functional>
#include <latch>
#include <thread>

#include "program/cache/cache_folder.h"
#include "program/cache/cache_key.h"
#include "program/cache/compile_lock.h"
#include "program/cache/package_cache.h"
#include "program/cache/user_key.h"
#include "program/compile_service.h"
#include "storage/confined_file_system.h"
#include "support/environment_variable.h"
#include "support/files.h"
#include "support/temporary_folder.h"
#include "support/umask.h"

namespace esper::program::package_cache_trust_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using crypto::MacKey;
using test::EnvironmentVariable;
using test::mode_of;
using test::read_text;
using test::Umask;
namespace fs = std::filesystem;

MacKey key_with(int value) {
  MacKey key{};
  key[0] = static_cast<std::byte>(value);
  return key;
}

// The cache as a run has it, with one package in it.
struct TrustRoom {
  test::TemporaryFolder folder;
  std::string root = folder / "programs";
  std::string key = cache_key({"program", "", "", "", 1, "", ""});
  std::string entries = root + "/entries", entry = entries + "/" + key;
  storage::ConfinedFileSystem files{root, storage::Owner::kThisUser};
  PackageCache cache{files, settings(1)};

  TrustRoom() {
    fs::create_directories(root);
    REQUIRE_FALSE(insert("package").failure);
    REQUIRE(found() == "package");
  }
  CacheSettings settings(int mac_key) const {
    CacheSettings settings;
    settings.folder = root;
    settings.mac_key = key_with(mac_key);
    return settings;
  }
  InsertOutcome insert(const std::string& package) {
    std::ofstream(root + "/made", std::ios::binary) << package;
    ::chmod((root + "/made").c_str(), 0600);  // as the worker makes it
    return cache.insert(key, root + "/made", {"default", "full", "2.11.0", "g++", 1, ""});
  }
  // Empty: not loaded.
  std::string found() {
    const auto package = cache.find(key);
    return package ? read_text(package->file.path()) : std::string();
  }
};

}  // namespace

TEST_CASE("an entry that was planted below the cache is not loaded, and is replaced by what is compiled") {
  TrustRoom room;
  const std::string elsewhere = room.folder / "elsewhere";
  fs::create_directories(elsewhere);
  fs::copy_file(room.entry, elsewhere + "/good");  // even one of this user's own
  std::function<void()> plant;
  std::string problem;
  SECTION("a link as the entry") {
    problem = "symbolic link";
    plant = [&] { fs::create_symlink(elsewhere + "/good", room.entry); };
  }
  SECTION("a file with a second name elsewhere") {
    problem = "several names";
    plant = [&] { fs::create_hard_link(elsewhere + "/good", room.entry); };
  }
  SECTION("a file that a group may write to") {
    problem = "a group can write";
    plant = [&] { fs::copy_file(elsewhere + "/good", room.entry), ::chmod(room.entry.c_str(), 0660); };
  }
  SECTION("a file that others may write to") {
    problem = "others can write";
    plant = [&] { fs::copy_file(elsewhere + "/good", room.entry), ::chmod(room.entry.c_str(), 0606); };
  }
  SECTION("a file of another user") {
    problem = "another user";
    if (::geteuid() != 0) SKIP("only root can give a file away");
    plant = [&] {
      fs::copy_file(elsewhere + "/good", room.entry);
      REQUIRE(::chown(room.entry.c_str(), 9, 9) == 0);
    };
  }
  SECTION("a pipe") {
    problem = "pipe";
    plant = [&] { REQUIRE(::mkfifo(room.entry.c_str(), 0600) == 0); };
  }
  SECTION("this user's own file, made under another key") {
    problem = "authentication code";
    plant = [&] {
      PackageCache theirs(room.files, room.settings(2));
      std::ofstream(room.root + "/theirs") << "evil package";
      REQUIRE_FALSE(theirs.insert(room.key, room.root + "/theirs", {}).failure);
    };
  }
  SECTION("a file without a code, as earlier versions wrote it") {
    problem = "authentication code";
    plant = [&] { std::ofstream(room.entry) << std::string(64, '0') << " {\"format\":1}\npackage"; };
  }
  if (problem.empty()) return;
  fs::remove(room.entry);
  plant();
  const auto planted = room.cache.find(room.key);
  REQUIRE_FALSE(planted);
  // It is compiled again, so there is nothing to advise.
  CHECK_THAT(planted.error(),
             ContainsSubstring(room.key) && ContainsSubstring(problem) && !ContainsSubstring("remove it"));
  REQUIRE_FALSE(room.insert("compiled again").failure);
  CHECK(room.found() == "compiled again");
  CHECK(read_text(elsewhere + "/good").find("compiled again") == std::string::npos);
}

TEST_CASE("a folder below the cache that somebody else may change serves nothing, and the reason names it") {
  TrustRoom room;
  const std::string aside = room.folder / "aside";
  SECTION("a group can write to it") { ::chmod(room.entries.c_str(), 0770); }
  SECTION("others can write to it") { ::chmod(room.entries.c_str(), 0707); }
  SECTION("it is a link") {
    fs::rename(room.entries, aside);
    fs::create_directory_symlink(aside, room.entries);
  }
  SECTION("it belongs to another user") {
    if (::geteuid() != 0) SKIP("only root can give a folder away");
    REQUIRE(::chown(room.entries.c_str(), 9, 9) == 0);
  }
  CHECK(room.found().empty());
  const auto outcome = room.insert("other");
  CHECK(outcome.failure == InsertFailure::kIo);
  CHECK_THAT(outcome.reason, ContainsSubstring(room.entries) && ContainsSubstring("--cache-dir"));
  // Whoever wants to compile is told before a program is submitted.
  const EnvironmentVariable state("XDG_STATE_HOME", room.folder / "state");
  const CompileService compile_service({}, {room.root, {}});
  CHECK_THAT(compile_service.problem(), ContainsSubstring(room.entries) && ContainsSubstring("--cache-dir"));
  // Another user's folder one can neither close nor empty.
  const bool is_theirs = compile_service.problem().find("another user") != std::string::npos;
  CHECK((compile_service.problem().find("remove it") == std::string::npos) == is_theirs);
}

TEST_CASE("all that the cache makes is its user's alone under any umask") {
  TrustRoom room;
  for (const auto& made : fs::directory_iterator(room.root)) fs::remove_all(made.path());
  const Umask umask(GENERATE(mode_t{0}, mode_t{0277}));
  REQUIRE_FALSE(room.insert("package").failure);
  const auto lock = CompileLock::try_take(room.root, room.key, CompileRank::kFull);
  CHECK(lock);
  room.cache.choices().remember(room.key, {"loops", {{"loops", 4.5}}});
  room.cache.quarantine(room.key, EntryFault::kDamaged, "for the test");
  int seen = 0;
  for (const auto& found : fs::recursive_directory_iterator(room.root)) {
    if (found.path().filename() == "made") continue;  // the caller's
    CAPTURE(found.path().string());
    CHECK(mode_of(found.path()) == (found.is_directory() ? 0700 : 0600));
    ++seen;
  }
  CHECK(seen >= 10);
}

TEST_CASE("a lock of a compilation that is not this user's alone is refused, and the reason names it") {
  const TrustRoom room;
  const std::string locks = room.root + "/compiling", lock = locks + "/" + room.key;
  const std::string aside = room.folder / "aside";
  fs::create_directories(locks);
  ::chmod(locks.c_str(), 0700);
  std::string problem, named = lock;
  SECTION("a group can write to the folder") {
    problem = "a group can write";
    ::chmod((named = locks).c_str(), 0770);
  }
  SECTION("others can write to the folder") {
    problem = "others can write";
    ::chmod((named = locks).c_str(), 0707);
  }
  SECTION("the folder is a link") {
    problem = "symbolic link";
    fs::rename(named = locks, aside);
    fs::create_directory_symlink(aside, locks);
  }
  SECTION("the folder belongs to another user") {
    problem = "another user";
    if (::geteuid() != 0) SKIP("only root can give a folder away");
    REQUIRE(::chown((named = locks).c_str(), 9, 9) == 0);
  }
  SECTION("others can write to the file") {
    problem = "others can write";
    std::ofstream{lock};
    ::chmod(lock.c_str(), 0606);
  }
  SECTION("the file has a second name") {
    problem = "several names";
    std::ofstream{aside};
    ::chmod(aside.c_str(), 0600);
    fs::create_hard_link(aside, lock);
  }
  SECTION("the file is a link") {
    problem = "symbolic link";
    fs::create_symlink(aside, lock);
  }
  if (problem.empty()) return;
  std::string reason;
  try {
    CompileLock::try_take(room.root, room.key, CompileRank::kFull);
  } catch (const storage::UnsafePath& error) {
    reason = error.what();
  }
  CHECK_THAT(reason, ContainsSubstring(named) && ContainsSubstring(problem));
  CHECK((!fs::is_directory(aside) || fs::is_empty(aside)));  // nothing was made through a link
}

TEST_CASE("the user's key is made once, for its user alone, however many processes ask first") {
  const test::TemporaryFolder folder;
  const EnvironmentVariable state("XDG_STATE_HOME", folder / "state");
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(user_key() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
  }
  const auto first = user_key(), second = user_key();
  REQUIRE(first);
  CHECK(*first == *second);
  CHECK(*first != MacKey{});
  CHECK(mode_of(folder / "state/esper/cache.key") == 0600);
  CHECK(mode_of(folder / "state/esper") == 0700);
  CHECK(std::distance(fs::directory_iterator(folder / "state/esper"), {}) == 1);
}

TEST_CASE("makers of the user's key with one process id do not disturb each other, and no temporary file stays") {
  const test::TemporaryFolder folder;
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const std::string state = folder / std::to_string(round), esper = state + "/esper";
    const EnvironmentVariable variable("XDG_STATE_HOME", state);
    fs::create_directories(esper);
    for (const auto& name : {state, esper}) ::chmod(name.c_str(), 0700);
    // Of makers that were killed.
    std::ofstream(esper + "/cache.key.tmp-" + std::to_string(::getpid() + 1)) << "left";
    std::ofstream(esper + "/cache.key.tmp-0123456789abcdef") << "left";

    constexpr std::size_t kMakers = 8;  // as in containers that share a home
    std::vector<base::Expected<MacKey>> keys(kMakers, base::failure("not made"));
    std::latch begin(kMakers);
    std::vector<std::thread> makers;
    for (auto& key : keys) {
      makers.emplace_back([&key, &begin] {
        begin.arrive_and_wait();
        key = user_key();
      });
    }
    for (auto& maker : makers) maker.join();
    for (const auto& key : keys) {
      INFO(key.error_or(""));
      REQUIRE(key);
      CHECK(*key == *keys.front());
    }
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(esper)) names.push_back(entry.path().filename());
    CHECK(names == std::vector<std::string>{"cache.key"});
  }
}

TEST_CASE("a relative path in the environment names no folder: ESPER_CACHE is refused, XDG's variables are ignored") {
  const test::TemporaryFolder folder;
  const EnvironmentVariable state("XDG_STATE_HOME", "relative"), cache("XDG_CACHE_HOME", "relative"),
      home("HOME", folder / "home");
  REQUIRE(user_key());
  CHECK(fs::exists(folder / "home/.local/state/esper/cache.key"));
  {
    const EnvironmentVariable unset("ESPER_CACHE", "");
    CHECK(*private_cache_folder("") == folder / "home/.cache/esper/programs");
  }
  {
    const EnvironmentVariable unset("ESPER_CACHE", ""), no_home("HOME", "relative");
    CHECK_FALSE(private_cache_folder(""));
    CHECK_FALSE(user_key());
  }
  const EnvironmentVariable own("ESPER_CACHE", "relative");
  const auto refused = private_cache_folder("");
  CHECK_FALSE(refused);
  CHECK_THAT(refused.error(), ContainsSubstring("ESPER_CACHE is not an absolute path: relative;"));
  CHECK(*private_cache_folder(folder / "named") == folder / "named");
  CHECK_FALSE(fs::exists("relative"));
}

TEST_CASE("a key that is not this user's secret is refused with the way out") {
  const test::TemporaryFolder folder;
  const EnvironmentVariable state("XDG_STATE_HOME", folder / "state");
  const std::string path = folder / "state/esper/cache.key";
  REQUIRE(user_key());
  const auto refused = [&](const std::string& problem) {
    const auto key = user_key();
    REQUIRE_FALSE(key);
    CHECK_THAT(key.error(), ContainsSubstring(path) && ContainsSubstring(problem) &&
                                ContainsSubstring("; remove it, and all") && ContainsSubstring("XDG_STATE_HOME") &&
                                !ContainsSubstring("--cache-dir"));
  };
  SECTION("others can read it") {
    ::chmod(path.c_str(), 0644);
    refused("others can read it");
  }
  SECTION("it is a link") {
    fs::rename(path, folder / "key");
    fs::create_symlink(folder / "key", path);
    refused("symbolic link");
  }
  SECTION("it belongs to another user") {
    if (::geteuid() != 0) SKIP("only root can give a file away");
    REQUIRE(::chown(path.c_str(), 9, 9) == 0);
    refused("another user");
  }
  SECTION("it is too short") {
    std::ofstream(path) << "short";
    refused("does not contain a key");
  }
}

}  // namespace esper::program::package_cache_trust_test
