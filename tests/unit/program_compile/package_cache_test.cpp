#include "program/cache/package_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "program/cache/cache_key.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"
#include "support/faults/faulty_file_system.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

namespace esper::program::package_cache_test {
namespace {

using test::FaultyFileSystem;
using test::TemporaryFolder;

std::string key_of(int n) { return cache_key({"program " + std::to_string(n), "", "", "", 1, "", ""}); }

PackageFacts some_facts() { return {"loops", "full", "2.11.0", "g++ -O3", 2345.5, "2026-03-01T12:00:00.000000Z"}; }

std::string read_back(const PackageFile& file) {
  std::ifstream in(file.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A cache in memory with time that a test moves.
struct MemoryCache {
  FaultyFileSystem files;
  std::shared_ptr<base::ManualTime> time = std::make_shared<base::ManualTime>(std::chrono::hours(1000));
  PackageCache cache;

  explicit MemoryCache(std::uint64_t limit = 1 << 20, std::uint64_t quarantine_limit = 1 << 20)
      : cache(files, {"/cache", limit, quarantine_limit, std::chrono::milliseconds(50)}, base::Clock(time)) {
    files.put("/made", "");
  }

  InsertOutcome insert(int n, const std::string& package) {
    files.put("/made", package);
    time->advance(std::chrono::seconds(1));
    return cache.insert(key_of(n), "/made", some_facts());
  }
  bool has(int n) {
    time->advance(std::chrono::seconds(1));
    return cache.find(key_of(n)).has_value();
  }
  // Of the entry; empty: it is found, or not there.
  std::string damage(int n) {
    time->advance(std::chrono::seconds(1));
    return cache.find(key_of(n)).error_or("");
  }
  std::vector<std::string> quarantined() { return files.names_in("/cache/quarantine"); }
};

}  // namespace

TEST_CASE("a key depends on every part and on where parts end") {
  const KeyParts base = {"p", "t", "d", "i", 1, "m", "r"};
  auto parts = std::vector<KeyParts>(9, base);
  parts[1].program = "q";
  parts[2].torch_version = "u";
  parts[3].device = "e";
  parts[4].instruction_set = "j";
  parts[5].threads = 2;
  parts[6].mode = "n";
  parts[7].recipe = "s";
  parts[8].numerics = "o";
  parts.push_back({"p", "td", "", "i", 1, "m", "r"});
  std::set<std::string> keys;
  for (const auto& part : parts) {
    CHECK(is_cache_key(cache_key(part)));
    keys.insert(cache_key(part));
  }
  CHECK(keys.size() == parts.size());
  CHECK(cache_key(base) == cache_key(parts[0]));
  CHECK_FALSE(is_cache_key("../../../../../../../etc/passwd.."));
}

TEST_CASE("what is inserted is found, with what is known about it") {
  MemoryCache memory;
  CHECK_FALSE(memory.has(1));
  CHECK(memory.damage(1).empty());
  REQUIRE_FALSE(memory.insert(1, "package one").failure);
  const auto found = memory.cache.find(key_of(1));
  REQUIRE(found);
  CHECK(read_back(found->file) == "package one");
  CHECK(found->bytes == 11);
  CHECK(found->facts.recipe == "loops");
  CHECK(found->facts.effort == "full");
  CHECK(found->facts.compile_ms == 2345.5);
  CHECK_FALSE(memory.has(2));
}

TEST_CASE("a package in quick effort is replaced by one in full effort, and never replaces it") {
  MemoryCache memory;
  PackageFacts quick = some_facts(), full = some_facts();
  quick.effort = "quick";
  quick.compile_ms = 1;
  const auto insert = [&](const std::string& package, const PackageFacts& facts) {
    memory.files.put("/made", package);
    const auto outcome = memory.cache.insert(key_of(1), "/made", facts);
    CHECK_FALSE(outcome.failure);
    CHECK(memory.files.kind_of("/made.entry") == base::PathKind::kNothing);
    return outcome.kept;
  };
  const auto package = [&] { return read_back(memory.cache.find(key_of(1)).value().file); };
  CHECK_FALSE(insert("quick", quick));
  CHECK_FALSE(insert("quick again", quick));
  CHECK(package() == "quick again");
  CHECK_FALSE(insert("full", full));
  CHECK(package() == "full");
  const auto kept = insert("late", quick);
  REQUIRE(kept);
  CHECK(kept->effort == "full");
  CHECK(kept->compile_ms == full.compile_ms);
  CHECK(package() == "full");
  CHECK_FALSE(insert("full again", full));
  CHECK(package() == "full again");
  // What is damaged protects nothing.
  memory.files.put("/cache/entries/" + key_of(1), "damage");
  CHECK_FALSE(insert("anew", quick));
  CHECK(package() == "anew");
}

TEST_CASE("a package in a reader's hands survives replacement, eviction and damage") {
  MemoryCache memory;
  memory.insert(1, "first");
  const auto found = memory.cache.find(key_of(1));
  REQUIRE(found);
  memory.insert(1, "second");
  memory.files.put("/cache/entries/" + key_of(1), "damage");
  CHECK(read_back(found->file) == "first");
}

TEST_CASE("the package unused for longest goes first") {
  MemoryCache memory(3000);
  const std::string package(700, 'x');
  for (int n = 1; n <= 2; ++n) REQUIRE_FALSE(memory.insert(n, package).failure);
  REQUIRE(memory.has(1));  // now 2 is the older one
  REQUIRE_FALSE(memory.insert(3, package).failure);
  CHECK(memory.has(1));
  REQUIRE_FALSE(memory.insert(4, package).failure);
  CHECK_FALSE(memory.has(2));
  CHECK(memory.has(1));
  CHECK(memory.has(4));
  CHECK(memory.insert(5, std::string(2000, 'y')).failure == InsertFailure::kTooLarge);
  CHECK(memory.has(4));
}

TEST_CASE("every flipped byte and every truncation is noticed and quarantined") {
  const std::string path = "/cache/entries/" + key_of(1);
  MemoryCache memory;
  memory.insert(1, "the package");
  const std::string whole = *memory.files.contents(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    for (const auto& damaged : {flipped, whole.substr(0, at)}) {
      INFO("byte " << at);
      memory.files.put(path, damaged);
      CHECK(memory.damage(1).starts_with("the entry " + key_of(1) + " of the cache was not loaded: it"));
      CHECK_FALSE(memory.files.contents(path));  // away
      CHECK(memory.damage(1).empty());
      CHECK(memory.cache.quarantine_reason(key_of(1), EntryFault::kDamaged));
      CHECK_FALSE(memory.cache.quarantine_reason(key_of(1), EntryFault::kWrong));
    }
  }
  REQUIRE_FALSE(memory.insert(1, "the package").failure);  // compiled again
  CHECK(memory.has(1));
}

TEST_CASE("an entry under another's name is not offered") {
  MemoryCache memory;
  memory.insert(1, "package one");
  memory.files.put("/cache/entries/" + key_of(2), *memory.files.contents("/cache/entries/" + key_of(1)));
  CHECK_FALSE(memory.has(2));
  CHECK(memory.has(1));
}

TEST_CASE("a package that was compiled again and fails again is not to be used for a day; damage never makes it so") {
  MemoryCache memory;
  const auto fail = [&](int n, EntryFault fault) {
    REQUIRE_FALSE(memory.insert(n, "the package").failure);
    CHECK(memory.cache.quarantine(key_of(n), fault, "it does not load"));
    CHECK_FALSE(memory.has(n));
  };
  for (int times = 0; times < 3; ++times) fail(1, EntryFault::kDamaged);
  fail(1, EntryFault::kFailed);
  fail(1, EntryFault::kDamaged);
  fail(2, EntryFault::kFailed);
  CHECK(memory.cache.quarantine_reason(key_of(1), EntryFault::kFailed) == "it does not load");
  CHECK_FALSE(memory.cache.why_unusable(key_of(1)));
  for (int times = 0; times < 2; ++times) {
    fail(1, EntryFault::kFailed);
    CHECK(memory.cache.why_unusable(key_of(1)) == "it was compiled again and failed again: it does not load");
    CHECK_FALSE(memory.cache.quarantine_reason(key_of(1), EntryFault::kWrong));
    CHECK_FALSE(memory.cache.why_unusable(key_of(2)));
    memory.time->advance(std::chrono::hours(24));
    CHECK_FALSE(memory.cache.why_unusable(key_of(1)));
  }
}

TEST_CASE("a package that fails in several processes failed once") {
  MemoryCache memory;
  REQUIRE_FALSE(memory.insert(1, "the package").failure);
  for (int process = 0; process < 3; ++process) {
    memory.time->advance(std::chrono::seconds(1));
    CHECK(memory.cache.quarantine(key_of(1), EntryFault::kFailed, "it does not load"));
  }
  CHECK(memory.cache.quarantine_reason(key_of(1), EntryFault::kFailed));
  CHECK_FALSE(memory.cache.why_unusable(key_of(1)));
}

TEST_CASE("a package that fails when its program was compiled again failed once, and the new package stays") {
  MemoryCache memory;
  const auto mac = [&] { return memory.cache.find(key_of(1)).value().mac; };
  const auto fail = [&](const std::string& failed) {
    memory.time->advance(std::chrono::seconds(1));
    return memory.cache.quarantine(key_of(1), EntryFault::kFailed, "it does not run", failed);
  };
  REQUIRE_FALSE(memory.insert(1, "first").failure);
  const std::string first = mac();
  CHECK(fail(first));
  REQUIRE_FALSE(memory.insert(1, "second").failure);
  CHECK(fail(first));  // in another process, which had loaded it before
  CHECK(memory.has(1));
  CHECK_FALSE(memory.cache.why_unusable(key_of(1)));
  CHECK(fail(mac()));
  CHECK_FALSE(memory.has(1));
  CHECK(memory.cache.why_unusable(key_of(1)));
}

TEST_CASE("the reason why a package failed is kept where another one has taken its place") {
  MemoryCache memory;
  REQUIRE_FALSE(memory.insert(1, "first").failure);
  const std::string first = memory.cache.find(key_of(1)).value().mac;
  REQUIRE_FALSE(memory.insert(1, "second").failure);
  CHECK(memory.cache.quarantine(key_of(1), EntryFault::kFailed, "it does not run", first));
  CHECK(memory.has(1));
  CHECK(memory.cache.quarantine_reason(key_of(1), EntryFault::kFailed) == "it does not run");
  CHECK(memory.cache.quarantine(key_of(1), EntryFault::kWrong, "differs from eager", first));
  CHECK_FALSE(memory.has(1));  // what is wrong is the program
}

TEST_CASE("a package whose results are wrong is never to be used") {
  MemoryCache memory;
  REQUIRE(memory.cache.quarantine(key_of(1), EntryFault::kWrong, "differs from eager"));
  memory.time->advance(std::chrono::hours(24 * 365));
  CHECK(memory.cache.why_unusable(key_of(1)) == "differs from eager");
}

TEST_CASE("quarantine keeps the reason and is bounded") {
  MemoryCache memory(1 << 20, 5000);
  for (int n = 0; n < 20; ++n) {
    memory.insert(n, std::string(1000, 'x'));
    CHECK(memory.cache.quarantine(key_of(n), EntryFault::kWrong, "differs from eager in loss"));
    CHECK_FALSE(memory.has(n));
  }
  CHECK(memory.cache.quarantine_reason(key_of(19), EntryFault::kWrong) == "differs from eager in loss");
  CHECK_FALSE(memory.cache.quarantine_reason(key_of(0), EntryFault::kWrong));
  std::uint64_t total = 0;
  for (const auto& name : memory.quarantined()) total += memory.files.contents("/cache/quarantine/" + name)->size();
  CHECK(total <= 5000);
}

TEST_CASE("a program found wrong after another run evicted it is remembered as wrong") {
  MemoryCache memory(3000);
  memory.insert(1, std::string(1000, 'x'));
  for (int n = 2; n < 6; ++n) memory.insert(n, std::string(1000, 'x'));
  REQUIRE_FALSE(memory.files.contents("/cache/entries/" + key_of(1)));
  CHECK(memory.cache.quarantine(key_of(1), EntryFault::kWrong, "differs from eager"));
  CHECK(memory.cache.quarantine_reason(key_of(1), EntryFault::kWrong) == "differs from eager");

  MemoryCache never_used;
  CHECK(never_used.cache.quarantine(key_of(1), EntryFault::kWrong, "differs from eager"));
  CHECK(never_used.cache.quarantine_reason(key_of(1), EntryFault::kWrong) == "differs from eager");
}

TEST_CASE("the choice of a recipe is remembered") {
  MemoryCache memory;
  CHECK_FALSE(memory.cache.choices().recall(key_of(1)));
  memory.cache.choices().remember(key_of(1), {"loops", {{"loops", 4.5}, {"default", 5.25}}});
  const auto choice = memory.cache.choices().recall(key_of(1));
  REQUIRE(choice);
  CHECK(choice->recipe == "loops");
  CHECK(choice->step_us.at("default") == 5.25);
  memory.files.put("/cache/choices/" + key_of(1), "{\"recipe\":3}");
  CHECK_FALSE(memory.cache.choices().recall(key_of(1)));
}

TEST_CASE("every failing call of an insertion leaves the old package or the new one") {
  for (const int error_number : {EIO, ENOSPC, EMFILE}) {
    for (int n = 1;; ++n) {
      MemoryCache memory;
      memory.insert(1, "old package");
      memory.files.put("/made", "new package");
      memory.files.fail_call(n, error_number);
      const auto outcome = memory.cache.insert(key_of(1), "/made", some_facts());
      const bool happened = memory.files.fault_happened();
      memory.files.restart();
      INFO("call " << n << ", errno " << error_number << ": " << outcome.reason);
      CHECK((!outcome.failure || !outcome.reason.empty()));
      const auto found = memory.cache.find(key_of(1));
      REQUIRE(found);
      const std::string package = read_back(found->file);
      CHECK((package == "new package" || (outcome.failure && package == "old package")));
      CHECK(memory.files.names_in("/cache/entries").size() == 1);
      if (!happened) break;
    }
  }
}

TEST_CASE("a full disk is a reason, and leaves nothing half written") {
  MemoryCache memory;
  REQUIRE_FALSE(memory.insert(1, "package one").failure);
  memory.files.put("/made", std::string(5000, 'x'));
  memory.files.limit_bytes(memory.files.used_bytes() + 1000);
  const auto outcome = memory.cache.insert(key_of(2), "/made", some_facts());
  CHECK(outcome.failure == InsertFailure::kNoSpace);
  CHECK(memory.files.names_in("/cache/entries") == std::vector<std::string>{key_of(1)});
  CHECK(memory.has(1));
}

namespace {

// The disk, but the first write to a file of that name hangs until it is told to go on.
class SlowCopy final : public base::FileSystem {
 public:
  SlowCopy(base::FileSystem& disk, std::string ending) : disk_(disk), ending_(std::move(ending)) {}
  void wait_until_copying() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, test::kPatience, [&] { return copying_; });
    REQUIRE(copying_);
  }
  // The write still hangs: nobody waited for it to end by itself.
  bool is_copying() {
    const std::lock_guard lock(mutex_);
    return copying_;
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

  void make_folder(const std::string& path) override { disk_.make_folder(path); }
  void rename(const std::string& from, const std::string& to) override { disk_.rename(from, to); }
  void remove(const std::string& path) override { disk_.remove(path); }
  std::vector<base::FolderEntry> list(const std::string& path) override { return disk_.list(path); }
  base::PathKind kind_of(const std::string& path) override { return disk_.kind_of(path); }
  void sync_folder(const std::string& path) override { disk_.sync_folder(path); }
  std::uint64_t free_bytes(const std::string& path) override { return disk_.free_bytes(path); }

 private:
  struct Opened {
    base::File file;
    bool is_slow;
  };

  int keep(base::File file, bool is_slow) {
    const std::lock_guard lock(mutex_);
    open_.emplace(++last_, Opened{std::move(file), is_slow});
    return last_;
  }
  Opened& at(int handle) {
    const std::lock_guard lock(mutex_);
    return open_.at(handle);
  }
  int open_handle(const std::string& path, base::OpenMode mode) override {
    return keep(disk_.open(path, mode), path.ends_with(ending_) && mode != base::OpenMode::kRead);
  }
  int try_lock_handle(const std::string& path) override {
    auto held = disk_.try_lock(path);
    return held ? keep(std::move(*held), false) : -1;
  }
  std::size_t write_some(int handle, std::span<const std::byte> bytes) override {
    if (at(handle).is_slow) {
      std::unique_lock lock(mutex_);
      copying_ = true;
      changed_.notify_all();
      changed_.wait_for(lock, test::kPatience, [&] { return released_; });
      copying_ = false;
    }
    at(handle).file.write(bytes);
    return bytes.size();
  }
  std::size_t read_some(int handle, std::uint64_t offset, std::span<std::byte> bytes) override {
    return at(handle).file.read_at(offset, bytes);
  }
  std::uint64_t size_of(int handle) override { return at(handle).file.size(); }
  void truncate_handle(int handle, std::uint64_t bytes) override { at(handle).file.truncate(bytes); }
  void start_sync_handle(int handle) override { at(handle).file.start_sync(); }
  void sync_handle(int handle) override { at(handle).file.sync(); }
  void close_handle(int handle) override {
    const std::lock_guard lock(mutex_);
    open_.erase(handle);
  }

  base::FileSystem& disk_;
  const std::string ending_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Opened> open_;
  int last_ = 0;
  bool copying_ = false, released_ = false;
};

}  // namespace

TEST_CASE("nothing but the insertion itself waits while a package is copied") {
  const TemporaryFolder folder;
  SlowCopy disk(storage::real_file_system(), "/made-2.entry");
  PackageCache cache(disk, {folder / "programs"});
  for (const char* name : {"made-1", "made-2"}) std::ofstream(folder / name) << "a package";
  REQUIRE_FALSE(cache.insert(key_of(1), folder / "made-1", some_facts()).failure);

  std::optional<InsertFailure> failure;
  std::thread inserting([&] { failure = cache.insert(key_of(2), folder / "made-2", some_facts()).failure; });
  disk.wait_until_copying();
  CHECK(cache.find(key_of(1)));
  CHECK_FALSE(cache.find(key_of(2)));
  cache.choices().remember(key_of(1), {"loops", {{"loops", 4.5}}});
  CHECK(cache.choices().recall(key_of(1)));
  CHECK(cache.quarantine(key_of(1), EntryFault::kWrong, "differs from eager"));
  CHECK(cache.quarantine_reason(key_of(1), EntryFault::kWrong));
  // Another run of the user shares only the folder.
  PackageCache other(storage::real_file_system(), {folder / "programs"});
  CHECK(other.quarantine(key_of(3), EntryFault::kWrong, "differs from eager"));
  CHECK(disk.is_copying());
  disk.go_on();
  inserting.join();
  CHECK_FALSE(failure);
  CHECK(cache.find(key_of(2)));
}

TEST_CASE("a lock that is held elsewhere is waited for only until the deadline") {
  MemoryCache memory;
  memory.insert(1, "package one");
  {
    const auto held = memory.files.try_lock("/cache/lock");
    REQUIRE(held);
    CHECK(memory.insert(2, "package two").failure == InsertFailure::kBusy);
    CHECK(memory.has(1));  // readers need no lock
    CHECK_FALSE(memory.cache.quarantine(key_of(1), EntryFault::kWrong, "late"));
  }
  CHECK_FALSE(memory.insert(2, "package two").failure);
}

namespace {

// One of several processes that insert, find, put away and evict the same few packages.
int torment(const std::string& folder, int seed) {
  PackageCache cache(storage::real_file_system(), {folder, 40'000, 20'000, test::kPatience});
  const std::string made = folder + "-made-" + std::to_string(seed);
  unsigned random = static_cast<unsigned>(seed) * 7919u + 1;
  for (int round = 0; round < 150; ++round) {
    random = random * 1664525u + 1013904223u;
    const int n = static_cast<int>(random >> 16) % 6;
    const std::string package(static_cast<std::size_t>(8000 + n), static_cast<char>('a' + n));
    switch (random >> 28) {
      case 0:
        cache.quarantine(key_of(n), EntryFault::kDamaged, "at random");
        break;
      case 1:
      case 2:
      case 3:
      case 4: {
        std::ofstream(made, std::ios::binary) << package;
        if (cache.insert(key_of(n), made, some_facts()).failure) return 2;
        break;
      }
      default: {
        const auto found = cache.find(key_of(n));
        if (found && read_back(found->file) != package) return 3;
        if (!found && !found.error().empty()) return 4;
      }
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("processes that insert, evict and load at once never see half a package") {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int seed = 0; seed < 4; ++seed) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(torment(folder / "programs", seed));
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
  }
}

}  // namespace esper::program::package_cache_test
