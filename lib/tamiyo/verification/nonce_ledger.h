#pragma once
// The ids of commands that were accepted lately, so that none is accepted twice. Bounded in time and in number. Not for
// several threads at once.

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>

#include "base/clock.h"

namespace esper::tamiyo {

struct NonceSettings {
  base::Duration time_to_live = std::chrono::seconds(300);
  std::size_t most = 10'000;
};

class NonceLedger {
 public:
  explicit NonceLedger(NonceSettings settings = {}) : settings_(settings) {}

  // False if it is in the ledger. `now`: monotonic.
  bool insert(const std::string& nonce, base::Duration now);

  std::size_t size() const { return known_.size(); }
  // Entries that had to go before their time, for want of room.
  std::int64_t evictions() const { return evictions_; }
  const NonceSettings& settings() const { return settings_; }

 private:
  struct Entry {
    std::string nonce;
    base::Duration inserted;
  };
  void drop_oldest();

  NonceSettings settings_;
  std::deque<Entry> entries_;  // oldest first
  std::unordered_set<std::string> known_;
  std::int64_t evictions_ = 0;
};

}  // namespace esper::tamiyo
