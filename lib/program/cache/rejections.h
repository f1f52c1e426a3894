#pragma once
// Which packages were rejected, and so which are not to be used or compiled again. Any thread; who calls reject() holds
// the cache's lock.

#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "program/cache/entry_store.h"
#include "program/cache/quarantine.h"

namespace esper::program {

class Rejections {
 public:
  // `entries` outlives it.
  Rejections(EntryStore& entries, Quarantine quarantine, base::Clock clock)
      : entries_(entries), quarantine_(std::move(quarantine)), clock_(std::move(clock)) {}

  // As PackageCache::quarantine(), which says what becomes of a fault and its MAC. Throws base::IoError.
  void reject(const std::string& key, EntryFault fault, const std::string& reason, const std::string& mac);

  // Whether the package with this MAC is not found any more. Throws base::IoError.
  bool is_away(const std::string& key, const std::string& mac) {
    return !entries_.exists(key) || entries_.is_replaced(key, mac);
  }

  // The reason given last for this key, if it is still in quarantine for that.
  std::optional<std::string> reason(const std::string& key, EntryFault fault) const {
    return reason_in_quarantine(quarantine_, key, fault);
  }

  // As PackageCache::why_unusable().
  std::optional<std::string> why_unusable(const std::string& key) const;

 private:
  EntryStore& entries_;
  const Quarantine quarantine_;
  const base::Clock clock_;
};

}  // namespace esper::program
