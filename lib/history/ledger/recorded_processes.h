#pragma once
// The processes of a run, one after another, as its telemetry has them: how many there were, and a gap for what is
// missing of each that was killed or dropped packets. One thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace esper::history {

class RecordedProcesses {
 public:
  // A process starts the run, or resumes it: the one before it is over.
  void begin();
  // The newest process ended the run: nothing of it is missing after that.
  void finish_run() { is_run_finished_ = true; }
  // The newest process went back to a checkpoint: the run was built again in it, which had begun as another one.
  void restore_checkpoint();
  // The newest process ended this epoch.
  void end_epoch(const std::string& epoch);
  // So far by the newest process: packets that it dropped, and late decisions.
  void set_dropped(std::int64_t packets) { dropped_ = packets; }
  void set_policy_timeouts(std::int64_t timeouts) { policy_timeouts_ = timeouts; }
  // Whether summary.json has the account of the newest packet's time: then no gap of its process is reported.
  enum class Account { kPackets, kSummary };
  void set_account(Account account) { account_ = account; }
  // After the last packet.
  void end();

  std::int64_t count() const { return count_; }
  Account account() const { return account_; }
  // Of all processes that are over.
  double policy_timeouts() const { return ended_policy_timeouts_; }
  const std::vector<std::string>& gaps() const { return gaps_; }

 private:
  void end_newest(const char* without_end);

  std::int64_t count_ = 0;
  double ended_policy_timeouts_ = 0;
  std::vector<std::string> gaps_;
  std::optional<std::ptrdiff_t> killed_gap_;  // of the process before the newest one, among the gaps
  std::string newest_epoch_;                  // of any process; empty: none yet
  // Of the newest process.
  bool is_run_finished_ = false;
  Account account_ = Account::kPackets;
  std::int64_t policy_timeouts_ = 0, dropped_ = 0;
};

}  // namespace esper::history
