#pragma once
// Compiled packages that outlive the run that made them, shared by all runs of a user. Any thread, any number of
// processes: readers take no lock (an entry is one file, published by rename), changes take the folder's lock with a
// deadline.
//
//   FOLDER/lock                    change_lock.h
//   FOLDER/entries, FOLDER/used    entry_store.h
//   FOLDER/choices/KEY             recipe_choices.h
//   FOLDER/quarantine              quarantine.h

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/expected.h"
#include "base/file_system.h"
#include "program/cache/change_lock.h"
#include "program/cache/entry_store.h"
#include "program/cache/package_entry.h"
#include "program/cache/package_file.h"
#include "program/cache/recipe_choices.h"
#include "program/cache/rejections.h"

namespace esper::program {

struct CacheSettings {
  std::string folder;                         // absolute; from private_cache_folder()
  std::uint64_t limit_bytes = 2048ull << 20;  // of all entries
  std::uint64_t quarantine_limit_bytes = 64ull << 20;
  base::Duration lock_deadline = std::chrono::seconds(2);
  crypto::MacKey mac_key{};  // user_key(); tests may take the zeros
};

struct CachedPackage {
  PackageFile file;
  PackageFacts facts;
  std::uint64_t bytes = 0;
  std::string mac{};  // PackageEntry::mac()
};

enum class InsertFailure { kNoSpace, kTooLarge, kBusy, kIo };
struct InsertOutcome {
  std::optional<InsertFailure> failure;  // none: the package is stored
  std::string reason;                    // with a failure
  // The entry in full effort that was there already and stays, where the package was one in quick effort.
  std::optional<PackageFacts> kept = std::nullopt;
};

class PackageCache {
 public:
  // `file_system` outlives the cache; the one of a run is confined to the folder and to this user's files. Makes
  // nothing yet.
  PackageCache(base::FileSystem& file_system, CacheSettings settings, base::Clock clock = {});

  const std::string& folder() const { return settings_.folder; }
  // Through which everything below folder() is opened, locks of others' included: files().try_lock(folder() + "/x").
  base::FileSystem& files() { return file_system_; }
  const crypto::MacKey& mac_key() const { return settings_.mac_key; }

  RecipeChoices& choices() { return choices_; }

  // An entry that is damaged, or that this user did not make, is quarantined on the way, and the error says what was
  // wrong with it. The error is empty where there is no such entry or it cannot be read now.
  base::Expected<CachedPackage> find(const std::string& key);

  // Of the entry, where there is a whole one. Changes nothing.
  std::optional<PackageFacts> facts(const std::string& key);

  // Stores the package that lies in the file `path`, replacing the entry of that key (but no entry in full effort by
  // one in quick effort), and evicts those unused for longest until all fit. After a failure the cache is as before,
  // but for what was evicted. `path` lies in a folder of the caller's own, on the cache's file system: the entry is
  // written beside it as `path`.entry, and no other call here, in this or another process, waits for that.
  InsertOutcome insert(const std::string& key, const std::string& path, const PackageFacts& facts);

  // Rejects the entry, so that it is not found again until it was compiled again, and keeps the reason, also where
  // another run evicted the entry meanwhile. mac: of the package with the fault; where that is kFailed, and another one
  // has taken its place, the other one stays, which may be good. Empty: whichever is there. kFailed becomes
  // kFailedAgain where an earlier one's reason is still there and the entry was compiled since. Best effort: a cache
  // that cannot be written to keeps it, and the caller must not use it either way. Returns whether it is away.
  bool quarantine(const std::string& key, EntryFault fault, const std::string& reason, const std::string& mac = {});

  // Why no package of this key is to be used, or compiled again: one was wrong, or failed again in the last 24 hours.
  // Empty: there is no such reason in quarantine.
  std::optional<std::string> why_unusable(const std::string& key) const { return rejections_.why_unusable(key); }

  // The reason given last for this key, if it is still in quarantine for that.
  std::optional<std::string> quarantine_reason(const std::string& key, EntryFault fault) const {
    return rejections_.reason(key, fault);
  }

  // The file of that entry, if there is one.
  std::string entry_path(const std::string& key) const { return entries_.path(key); }

 private:
  void quarantine_if_damaged(const std::string& key);
  InsertOutcome publish_entry(const std::string& key, const PackageFacts& facts, const std::string& written,
                              std::uint64_t bytes);

  base::FileSystem& file_system_;
  const CacheSettings settings_;
  ChangeLock lock_;
  EntryStore entries_;
  RecipeChoices choices_;
  Rejections rejections_;
};

}  // namespace esper::program
