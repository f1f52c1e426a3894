#include "tamiyo/verification/nonce_ledger.h"

namespace esper::tamiyo {

bool NonceLedger::insert(const std::string& nonce, base::Duration now) {
  while (!entries_.empty() && now - entries_.front().inserted > settings_.time_to_live) drop_oldest();
  if (!known_.insert(nonce).second) return false;
  entries_.push_back({nonce, now});
  if (entries_.size() > settings_.most) {
    drop_oldest();
    ++evictions_;
  }
  return true;
}

void NonceLedger::drop_oldest() {
  known_.erase(entries_.front().nonce);
  entries_.pop_front();
}

}  // namespace esper::tamiyo
