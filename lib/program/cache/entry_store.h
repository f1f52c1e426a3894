#pragma once
// The entries of a cache as files, all of them within a limit, and when each was last used. Any thread, any number of
// processes; who calls publish() holds the cache's lock.
//
//   CACHE/entries/KEY   package_entry.h
//   CACHE/used/KEY      use_times.h

#include <cstdint>
#include <string>

#include "base/expected.h"
#include "base/file_system.h"
#include "crypto/mac.h"
#include "program/cache/package_entry.h"
#include "program/cache/use_times.h"

namespace esper::program {

inline constexpr std::uint64_t kMaxEntryBytes = 4ull << 30;

// What is wrong with an entry that could not be read, without advice: it is quarantined and compiled again. Empty:
// nothing, or nobody knows.
std::string damage_of(const base::IoError& error);

class EntryStore {
 public:
  // `files` outlives it. limit_bytes: of all entries. Makes nothing.
  EntryStore(base::FileSystem& files, const std::string& cache, std::uint64_t limit_bytes,
             const crypto::MacKey& mac_key, const base::Clock& clock)
      : files_(files),
        folder_(cache + "/entries"),
        limit_bytes_(limit_bytes),
        mac_key_(mac_key),
        use_times_(files, cache + "/used", clock) {}

  std::string path(const std::string& key) const { return folder_ + "/" + key; }

  // The entry, checked. The error is empty where there is no such entry or it cannot be read now.
  base::Expected<PackageEntry> load(const std::string& key);
  // Whether there is a file, whole or not. Throws base::IoError.
  bool exists(const std::string& key);
  // Whether there is a whole entry, of another package than the one with this MAC. Empty: it is not.
  bool is_replaced(const std::string& key, const std::string& mac);

  // It is used now.
  void touch(const std::string& key) { use_times_.touch(key); }

  // Moves the file `written`, of `bytes` bytes, to where the entry is, and evicts those unused for longest until all
  // fit. Throws base::IoError.
  void publish(const std::string& key, const std::string& written, std::uint64_t bytes);

 private:
  base::FileSystem& files_;
  const std::string folder_;
  const std::uint64_t limit_bytes_;
  const crypto::MacKey mac_key_;
  UseTimes use_times_;
};

}  // namespace esper::program
