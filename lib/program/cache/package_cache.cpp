#include "program/cache/package_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "program/cache/cache_key.h"
#include "program/cache/compile_effort.h"
#include "storage/atomic_publish.h"
#include "storage/beneath.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using base::IoError;
using base::PathKind;
using nlohmann::json;
using storage::bytes_of;
using storage::text_of;

constexpr std::uint64_t kMaxEntryBytes = 4ull << 30;
constexpr std::uint64_t kMaxTextBytes = 1u << 20;
constexpr base::Duration kKeyLockPoll = std::chrono::milliseconds(2);

// Not there, as opposed to there and unreadable.
bool is_absent(const IoError& error) { return error.error_number() == ENOENT || error.error_number() == ENOTDIR; }

// This process's trouble, not the entry's: it must not cost a good entry.
bool is_passing(const IoError& error) {
  switch (error.error_number()) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EACCES:
      return true;
    default:
      return is_absent(error);
  }
}

// Of an entry that is quarantined and compiled again: there is nothing left for the user to do.
std::string damage_of(const IoError& error) {
  const auto* unsafe = dynamic_cast<const storage::UnsafePath*>(&error);
  return unsafe == nullptr ? error.what() : unsafe->problem();
}

}  // namespace

PackageCache::PackageCache(base::FileSystem& file_system, CacheSettings settings, base::Clock clock)
    : file_system_(file_system), settings_(std::move(settings)), clock_(std::move(clock)) {}

std::optional<base::File> PackageCache::lock() {
  const auto deadline = clock_.now() + settings_.lock_deadline;
  for (;;) {
    auto held = file_system_.try_lock(settings_.folder + "/lock");
    if (held || clock_.now() >= deadline) return held;
    clock_.sleep(kKeyLockPoll);
  }
}

void PackageCache::ensure_folders() {
  for (const char* name : {"entries", "used", "choices", "quarantine"}) {
    storage::ensure_folder(file_system_, settings_.folder + "/" + name);
  }
}

base::Expected<PackageEntry> PackageCache::load(const std::string& key) {
  auto entry = parse_entry(storage::read_file(file_system_, entry_path(key), kMaxEntryBytes), settings_.mac_key);
  if (entry && entry->key != key) return base::failure("it is the entry of another program");
  return entry;
}

std::optional<CachedPackage> PackageCache::find(const std::string& key) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  try {
    const auto entry = load(key);
    if (entry) {
      touch(key);
      return CachedPackage{PackageFile(entry->package()), entry->facts, entry->package().size()};
    }
    record_damage(key, entry.error());
  } catch (const IoError& error) {
    if (is_passing(error)) return std::nullopt;
    record_damage(key, damage_of(error));
  }
  quarantine_if_damaged(key);
  return std::nullopt;
}

std::optional<PackageFacts> PackageCache::facts(const std::string& key) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  try {
    if (const auto entry = load(key)) return entry->facts;
  } catch (const IoError&) {  // whoever needs the package learns of it
  }
  return std::nullopt;
}

void PackageCache::record_damage(const std::string& key, const std::string& reason) {
  const std::lock_guard guard(mutex_);
  ++damaged_;
  last_damage_ = "the entry " + key + " of the cache was not loaded: " + reason;
}

std::string PackageCache::last_damage() {
  const std::lock_guard guard(mutex_);
  return last_damage_;
}

void PackageCache::quarantine_if_damaged(const std::string& key) {
  try {
    const std::lock_guard guard(mutex_);
    const auto held = lock();
    if (!held) return;
    std::string reason;
    try {  // again, under the lock: it may have been replaced since
      const auto entry = load(key);
      if (entry) return;
      reason = entry.error();
    } catch (const IoError& error) {
      if (is_passing(error)) return;
      reason = damage_of(error);
    }
    reject(key, EntryFault::kDamaged, reason);
  } catch (const IoError&) {  // a cache that cannot be changed; find() refuses the entry each time
  }
}

// Best effort: without it the entry only looks older than it is. Not synced: losing it costs nothing.
void PackageCache::touch(const std::string& key) {
  try {
    const std::string path = settings_.folder + "/used/" + key;
    const std::string temporary = fmt::format("{}-{}.tmp-{}", path, ++touches_, ::getpid());
    auto file = file_system_.open(temporary, base::OpenMode::kReplace);
    file.write(bytes_of(std::to_string(clock_.wall().count())));
    file.close();
    file_system_.rename(temporary, path);
  } catch (const IoError&) {
  }
}

std::int64_t PackageCache::last_use(const std::string& key) {
  std::int64_t time = 0;
  try {
    const auto contents = storage::read_file(file_system_, settings_.folder + "/used/" + key, kMaxTextBytes);
    const auto text = text_of(contents);
    std::from_chars(text.data(), text.data() + text.size(), time);
  } catch (const IoError&) {
  }
  return std::min<std::int64_t>(time, clock_.wall().count());
}

std::vector<PackageCache::Usage> PackageCache::usage() {
  std::vector<Usage> all;
  for (const auto& entry : file_system_.list(settings_.folder + "/entries")) {
    if (!is_cache_key(entry.name)) continue;
    try {
      const auto bytes = file_system_.open(entry_path(entry.name), base::OpenMode::kRead).size();
      all.push_back({entry.name, bytes, last_use(entry.name)});
    } catch (const IoError& error) {
      if (!is_absent(error)) all.push_back({entry.name, 0, 0});  // unreadable: the first to go
    }
  }
  std::ranges::sort(all, {}, &Usage::last_use);
  return all;
}

void PackageCache::evict_for(std::uint64_t bytes, const std::string& replaced) {
  auto all = usage();
  std::uint64_t total = bytes;
  for (const auto& entry : all) total += entry.key == replaced ? 0 : entry.bytes;
  for (const auto& entry : all) {
    if (total <= settings_.limit_bytes) return;
    if (entry.key == replaced) continue;
    storage::remove_all(file_system_, entry_path(entry.key));
    storage::remove_all(file_system_, settings_.folder + "/used/" + entry.key);
    total -= entry.bytes;
  }
}

// The only long part of an insertion, and nobody waits for it: it holds no lock.
std::uint64_t PackageCache::write_entry(const std::string& path, const std::string& header, storage::Bytes package) {
  auto file = file_system_.open(path, base::OpenMode::kReplace);
  file.write(bytes_of(header));
  file.write(package);
  file.sync();
  file.close();
  return header.size() + package.size();
}

InsertOutcome PackageCache::insert(const std::string& key, const std::string& path, const PackageFacts& facts) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  const std::string entry = path + ".entry";
  InsertOutcome outcome;
  try {
    const auto package = storage::read_file(file_system_, path, kMaxEntryBytes);
    if (package.size() > settings_.limit_bytes / 2) {
      return {InsertFailure::kTooLarge,
              fmt::format("the package has {} bytes, and the cache may hold {} (step.compile.cache_limit_mb)",
                          package.size(), settings_.limit_bytes)};
    }
    const auto bytes = write_entry(entry, entry_header(key, facts, package, settings_.mac_key), package);
    outcome = publish_entry(key, facts, entry, bytes);
  } catch (const IoError& error) {
    outcome = {error.out_of_space() ? InsertFailure::kNoSpace : InsertFailure::kIo, error.what()};
  }
  if (!outcome.failure && !outcome.kept) {
    touch(key);
    return outcome;
  }
  try {
    storage::remove_all(file_system_, entry);
  } catch (const IoError&) {  // it goes with the caller's folder
  }
  return outcome;
}

// The entry of that key, where it is in full effort and `facts` are of one in quick effort: both are compiled at once
// where neither's rank waits for the other's (compile_lock.h), and the quick one may be done last.
std::optional<PackageFacts> PackageCache::better_than(const PackageFacts& facts, const std::string& key) {
  if (facts.effort != base::name_of(CompileEffort::kQuick)) return std::nullopt;
  auto there = this->facts(key);
  if (there && there->effort != base::name_of(CompileEffort::kFull)) there.reset();
  return there;
}

InsertOutcome PackageCache::publish_entry(const std::string& key, const PackageFacts& facts, const std::string& written,
                                          std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  ensure_folders();
  const auto held = lock();
  if (!held) return {InsertFailure::kBusy, "another process holds the lock of " + settings_.folder};
  if (auto better = better_than(facts, key)) return {.failure = {}, .reason = {}, .kept = std::move(better)};
  for (const char* name : {"used", "choices", "quarantine"}) {
    storage::remove_leftovers(file_system_, settings_.folder + "/" + name);
  }
  evict_for(bytes, key);
  file_system_.rename(written, entry_path(key));
  file_system_.sync_folder(settings_.folder + "/entries");
  return {};
}

void PackageCache::reject(const std::string& key, EntryFault fault, const std::string& reason) {
  move_to_quarantine(rejected(), entry_path(key), clock_.wall(), fault, reason);
}

bool PackageCache::quarantine(const std::string& key, EntryFault fault, const std::string& reason) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  try {
    const std::lock_guard guard(mutex_);
    ensure_folders();
    const auto held = lock();
    if (!held) return false;
    reject(key, fault, reason);
  } catch (const IoError&) {
  }
  try {
    return file_system_.kind_of(entry_path(key)) == PathKind::kNothing;
  } catch (const IoError&) {
    return false;
  }
}

void PackageCache::remember_choice(const std::string& key, const RecipeChoice& choice) {
  const std::string text = json{{"recipe", choice.recipe}, {"step_us", choice.step_us}}.dump() + "\n";
  try {
    const std::lock_guard guard(mutex_);
    ensure_folders();
    const auto held = lock();
    if (held) storage::publish_file(file_system_, settings_.folder + "/choices/" + key, bytes_of(text));
  } catch (const IoError&) {
  }
}

std::optional<RecipeChoice> PackageCache::recall_choice(const std::string& key) {
  try {
    const auto contents = storage::read_file(file_system_, settings_.folder + "/choices/" + key, kMaxTextBytes);
    const json fields = json::parse(text_of(contents));
    return RecipeChoice{fields.at("recipe"), fields.at("step_us")};
  } catch (const IoError&) {
  } catch (const json::exception&) {  // damaged: the recipes are compared again, and the file is replaced
  }
  return std::nullopt;
}

}  // namespace esper::program
