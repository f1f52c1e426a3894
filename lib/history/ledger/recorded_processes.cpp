#include "history/ledger/recorded_processes.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace esper::history {

void RecordedProcesses::begin() {
  killed_gap_.reset();
  if (count_ > 0) end_newest("was killed");
  ++count_;
  is_run_finished_ = false;
}

void RecordedProcesses::restore_checkpoint() {
  if (count_ <= 1) return;
  --count_;
  if (killed_gap_) gaps_.erase(gaps_.begin() + *killed_gap_);
  killed_gap_.reset();
}

void RecordedProcesses::end_epoch(const std::string& epoch) {
  newest_epoch_ = epoch;
  count_ = std::max<std::int64_t>(count_, 1);  // the first packet of the first one may be lost
}

void RecordedProcesses::end() { end_newest("is still running or was killed"); }

// without_end: what became of it if it did not end the run.
void RecordedProcesses::end_newest(const char* without_end) {
  ended_policy_timeouts_ += static_cast<double>(std::exchange(policy_timeouts_, 0));
  const std::int64_t dropped = std::exchange(dropped_, 0);
  if (count_ == 0 || account_ == Account::kSummary) return;
  if (dropped > 0) {
    gaps_.push_back(fmt::format("process {} dropped {} packets; their time is missing", count_, dropped));
  }
  if (is_run_finished_) return;
  const std::string after = newest_epoch_.empty() ? "its start" : "epoch " + newest_epoch_;
  killed_gap_ = static_cast<std::ptrdiff_t>(gaps_.size());
  gaps_.push_back(fmt::format("process {} {}: the time after {} is missing", count_, without_end, after));
}

}  // namespace esper::history
