#include "program/cache/entry_store.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/error.h"
#include "program/cache/cache_key.h"
#include "storage/beneath.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using base::IoError;

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

}  // namespace

std::string damage_of(const IoError& error) {
  if (is_passing(error)) return {};
  const auto* unsafe = dynamic_cast<const storage::UnsafePath*>(&error);
  return unsafe == nullptr ? error.what() : unsafe->problem();
}

base::Expected<PackageEntry> EntryStore::load(const std::string& key) {
  ESPER_CHECK(is_cache_key(key), "a cache key has 32 hexadecimal digits");
  try {
    auto entry = parse_entry(storage::read_file(files_, path(key), kMaxEntryBytes), mac_key_);
    if (entry && entry->key != key) return base::failure("it is the entry of another program");
    return entry;
  } catch (const IoError& error) {
    return base::failure(damage_of(error));
  }
}

bool EntryStore::exists(const std::string& key) { return files_.kind_of(path(key)) != base::PathKind::kNothing; }

bool EntryStore::is_replaced(const std::string& key, const std::string& mac) {
  if (mac.empty()) return false;
  const auto entry = load(key);
  return entry && entry->mac() != mac;
}

void EntryStore::publish(const std::string& key, const std::string& written, std::uint64_t bytes) {
  auto uses = uses_but_of(key, files_, folder_, use_times_);
  for (const auto& evicted : keys_to_evict(std::move(uses), bytes, limit_bytes_)) {
    storage::remove_all(files_, path(evicted));
    use_times_.forget(evicted);
  }
  files_.rename(written, path(key));
  files_.sync_folder(folder_);
}

}  // namespace esper::program
