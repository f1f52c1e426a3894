#include "program/cache/package_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "program/cache/cache_key.h"
#include "storage/atomic_publish.h"
#include "storage/beneath.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using base::IoError;
using base::PathKind;

constexpr std::uint64_t kMaxEntryBytes = 4ull << 30;
// Why two packages failed may lie outside of them, and be mended: a fault of the driver, for one.
constexpr base::Duration kFailureHolds = std::chrono::hours(24);

// Not there, as opposed to there and unreadable.
bool is_absent(const IoError& error) { return error.error_number() == ENOENT || error.error_number() == ENOTDIR; }

// This process's failure, not the entry's: it must not cost a good entry.
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

// What is wrong with an entry, without advice: it is quarantined and compiled again. Empty: nothing, or nobody knows.
std::string damage_of(const IoError& error) {
  if (is_passing(error)) return {};
  const auto* unsafe = dynamic_cast<const storage::UnsafePath*>(&error);
  return unsafe == nullptr ? error.what() : unsafe->problem();
}

base::Failure<std::string> not_loaded(const std::string& key, const std::string& problem) {
  return base::failure(problem.empty() ? "" : "the entry " + key + " of the cache was not loaded: " + problem);
}

struct EntryUse {
  std::string key;
  std::uint64_t bytes = 0;
  std::int64_t last_use = 0;  // 0: unknown
};

std::vector<EntryUse> uses_but_of(const std::string& replaced, base::FileSystem& file_system,
                                  const std::string& entries, UseTimes& use_times) {
  std::vector<EntryUse> uses;
  for (const auto& entry : file_system.list(entries)) {
    if (!is_cache_key(entry.name) || entry.name == replaced) continue;
    try {
      const auto bytes = file_system.open(entries + "/" + entry.name, base::OpenMode::kRead).size();
      uses.push_back({entry.name, bytes, use_times.last_use(entry.name)});
    } catch (const IoError& error) {
      if (!is_absent(error)) uses.push_back({entry.name, 0, 0});  // unreadable: the first to go
    }
  }
  return uses;
}

// Keys, those unused for longest first, without which the rest and `incoming` more bytes stay within the limit.
std::vector<std::string> keys_to_evict(std::vector<EntryUse> entries, std::uint64_t incoming, std::uint64_t limit) {
  std::ranges::sort(entries, {}, &EntryUse::last_use);
  std::uint64_t total = incoming;
  for (const auto& entry : entries) total += entry.bytes;
  std::vector<std::string> keys;
  for (const auto& entry : entries) {
    if (total <= limit) break;
    keys.push_back(entry.key);
    total -= entry.bytes;
  }
  return keys;
}

void ensure_folders(base::FileSystem& file_system, const std::string& cache) {
  for (const char* name : {"entries", "used", "choices", "quarantine"}) {
    storage::ensure_folder(file_system, cache + "/" + name);
  }
}

// The only long part of an insertion, and nobody waits for it: it holds no lock. Returns the bytes written.
std::uint64_t write_entry(base::FileSystem& file_system, const std::string& path, const std::string& header,
                          storage::Bytes package) {
  auto file = file_system.open(path, base::OpenMode::kReplace);
  file.write(storage::bytes_of(header));
  file.write(package);
  file.sync();
  file.close();
  return header.size() + package.size();
}

}  // namespace

PackageCache::PackageCache(base::FileSystem& file_system, CacheSettings settings, base::Clock clock)
    : file_system_(file_system),
      settings_(std::move(settings)),
      clock_(std::move(clock)),
      lock_(file_system, settings_.folder, settings_.lock_deadline, clock_),
      use_times_(file_system, settings_.folder + "/used", clock_),
      choices_(file_system, lock_, settings_.folder + "/choices"),
      rejected_{file_system, settings_.folder + "/quarantine", settings_.quarantine_limit_bytes} {}

// The error is empty where there is no such entry or it cannot be read now.
base::Expected<PackageEntry> PackageCache::load(const std::string& key) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  try {
    auto entry = parse_entry(storage::read_file(file_system_, entry_path(key), kMaxEntryBytes), settings_.mac_key);
    if (entry && entry->key != key) return base::failure("it is the entry of another program");
    return entry;
  } catch (const IoError& error) {
    return base::failure(damage_of(error));
  }
}

base::Expected<CachedPackage> PackageCache::find(const std::string& key) {
  const auto entry = load(key);
  if (!entry) {
    if (!entry.error().empty()) quarantine_if_damaged(key);
    return not_loaded(key, entry.error());
  }
  use_times_.touch(key);
  try {
    return CachedPackage{PackageFile(entry->package()), entry->facts, entry->package().size(), entry->mac()};
  } catch (const IoError& error) {
    return not_loaded(key, damage_of(error));
  }
}

std::optional<PackageFacts> PackageCache::facts(const std::string& key) {
  const auto entry = load(key);  // what is wrong with it is for whoever needs the package
  return entry ? std::optional(entry->facts) : std::nullopt;
}

void PackageCache::quarantine_if_damaged(const std::string& key) {
  try {
    const auto held = lock_.take();
    if (!held) return;
    const auto entry = load(key);  // again, under the lock: it may have been replaced since
    if (!entry && !entry.error().empty()) reject(key, EntryFault::kDamaged, entry.error(), {});
  } catch (const IoError&) {  // a cache that cannot be changed; find() refuses the entry each time
  }
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
    const auto bytes = write_entry(file_system_, entry, entry_header(key, facts, package, settings_.mac_key), package);
    outcome = publish_entry(key, facts, entry, bytes);
  } catch (const IoError& error) {
    outcome = {error.out_of_space() ? InsertFailure::kNoSpace : InsertFailure::kIo, error.what()};
  }
  if (!outcome.failure && !outcome.kept) {
    use_times_.touch(key);
    return outcome;
  }
  try {
    storage::remove_all(file_system_, entry);
  } catch (const IoError&) {  // it goes with the caller's folder
  }
  return outcome;
}

InsertOutcome PackageCache::publish_entry(const std::string& key, const PackageFacts& facts, const std::string& written,
                                          std::uint64_t bytes) {
  ensure_folders(file_system_, settings_.folder);
  const auto held = lock_.take();
  if (!held) return {InsertFailure::kBusy, "another process holds the lock of " + settings_.folder};
  // Both are compiled at once where neither's rank waits for the other's (compile_lock.h), and the quick one may be
  // done last.
  if (has_effort(facts, CompileEffort::kQuick)) {
    auto there = this->facts(key);
    if (there && has_effort(*there, CompileEffort::kFull)) {
      return {.failure = {}, .reason = {}, .kept = std::move(there)};
    }
  }
  for (const char* name : {"used", "choices", "quarantine"}) {
    storage::remove_leftovers(file_system_, settings_.folder + "/" + name);
  }
  const std::string entries = settings_.folder + "/entries";
  auto uses = uses_but_of(key, file_system_, entries, use_times_);
  for (const auto& evicted : keys_to_evict(std::move(uses), bytes, settings_.limit_bytes)) {
    storage::remove_all(file_system_, entry_path(evicted));
    use_times_.forget(evicted);
  }
  file_system_.rename(written, entry_path(key));
  file_system_.sync_folder(entries);
  return {};
}

bool PackageCache::is_replaced(const std::string& key, const std::string& mac) {
  if (mac.empty()) return false;
  const auto entry = load(key);
  return entry && entry->mac() != mac;
}

// Several processes may fail with one package, which the first of them moves away: that is one failure, also where the
// program was compiled again since. A package that is wrong makes every other one of its program so.
void PackageCache::reject(const std::string& key, EntryFault fault, const std::string& reason, const std::string& mac) {
  const bool failed = fault == EntryFault::kFailed;
  if (failed && is_replaced(key, mac)) return keep_reason(rejected_, key, clock_.wall(), fault, reason);
  const bool again = failed && quarantine_reason(key, EntryFault::kFailed) &&
                     file_system_.kind_of(entry_path(key)) != PathKind::kNothing;
  move_to_quarantine(rejected_, entry_path(key), clock_.wall(), again ? EntryFault::kFailedAgain : fault,
                     (again ? "it was compiled again and failed again: " : "") + reason);
}

std::optional<std::string> PackageCache::why_unusable(const std::string& key) {
  if (auto wrong = quarantine_reason(key, EntryFault::kWrong)) return wrong;
  const base::Duration since = std::max(clock_.wall() - kFailureHolds, base::Duration(0));
  return reason_in_quarantine(rejected_, key, EntryFault::kFailedAgain, since);
}

bool PackageCache::quarantine(const std::string& key, EntryFault fault, const std::string& reason,
                              const std::string& mac) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  try {
    ensure_folders(file_system_, settings_.folder);
    const auto held = lock_.take();
    if (!held) return false;
    reject(key, fault, reason, mac);
  } catch (const IoError&) {
  }
  try {
    return file_system_.kind_of(entry_path(key)) == PathKind::kNothing || is_replaced(key, mac);
  } catch (const IoError&) {
    return false;
  }
}

}  // namespace esper::program
