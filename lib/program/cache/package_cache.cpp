#include "program/cache/package_cache.h"

#include <fmt/core.h>

#include "base/error.h"
#include "program/cache/cache_key.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using base::IoError;

base::Failure<std::string> not_loaded(const std::string& key, const std::string& problem) {
  return base::failure(problem.empty() ? "" : "the entry " + key + " of the cache was not loaded: " + problem);
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
      lock_(file_system, settings_.folder, settings_.lock_deadline, clock),
      entries_(file_system, settings_.folder, settings_.limit_bytes, settings_.mac_key, clock),
      choices_(file_system, lock_, settings_.folder + "/choices"),
      rejections_(entries_, {file_system, settings_.folder + "/quarantine", settings_.quarantine_limit_bytes}, clock) {}

base::Expected<CachedPackage> PackageCache::find(const std::string& key) {
  const auto entry = entries_.load(key);
  if (!entry) {
    if (!entry.error().empty()) quarantine_if_damaged(key);
    return not_loaded(key, entry.error());
  }
  entries_.touch(key);
  try {
    return CachedPackage{PackageFile(entry->package()), entry->facts, entry->package().size(), entry->mac()};
  } catch (const IoError& error) {
    return not_loaded(key, damage_of(error));
  }
}

std::optional<PackageFacts> PackageCache::facts(const std::string& key) {
  const auto entry = entries_.load(key);  // what is wrong with it is for whoever needs the package
  return entry ? std::optional(entry->facts) : std::nullopt;
}

void PackageCache::quarantine_if_damaged(const std::string& key) {
  try {
    const auto held = lock_.take();
    if (!held) return;
    const auto entry = entries_.load(key);  // again, under the lock: it may have been replaced since
    if (!entry && !entry.error().empty()) rejections_.reject(key, EntryFault::kDamaged, entry.error(), {});
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
    entries_.touch(key);
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
  entries_.publish(key, written, bytes);
  return {};
}

bool PackageCache::quarantine(const std::string& key, EntryFault fault, const std::string& reason,
                              const std::string& mac) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  try {
    ensure_folders(file_system_, settings_.folder);
    const auto held = lock_.take();
    if (!held) return false;
    rejections_.reject(key, fault, reason, mac);
  } catch (const IoError&) {
  }
  try {
    return rejections_.is_away(key, mac);
  } catch (const IoError&) {
    return false;
  }
}

}  // namespace esper::program
