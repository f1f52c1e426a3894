#pragma once
// What becomes of a job whose processes have ended. Pure functions. Any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// How the processes of one attempt ended.
struct AttemptEnd {
  std::optional<int> exit_code{};  // of the training process; none: a signal ended it, or nobody saw the end
  int signal = 0;                  // that ended it
  std::string problem{};           // it could not be started: why
  bool never_began = false;        // and may begin later: the attempt is not counted as an interruption
  bool may_stay = false;           // of what never began: that may never pass
  std::string checkpoint{};        // the newest one of the run folder; empty: none
  std::int64_t peak_bytes = 0;     // of resident memory; 0: nobody saw it
};

// Whether a process that could not be started may be started later: its errno is of what a machine lacks for a while.
bool may_pass(int error);
// Of these, whether it may as well stay: a file or a folder is missing, or may not be used.
bool may_stay(int error);

// How often an interrupted job is started again.
struct RestartRules {
  // In a row without a new checkpoint, for one cause. A cause that was not among them counts from 1 again, up to
  // kMostCauses of them: so whatever the causes are, it is started again at most kMostCauses times as often.
  int most_interruptions = 5;
  static constexpr std::size_t kMostCauses = 3;
  int most_failed_starts = 20;  // in a row, where what fails them may stay: with the delays over an hour
  base::Duration first_delay = std::chrono::seconds(1), longest_delay = std::chrono::minutes(5);
};

// Moves the job to what follows: state, reason, interruptions and their causes, exit code.
void settle(Job& job, const AttemptEnd& end, const RestartRules& rules);

// How long an interrupted job waits before it is started again: doubles with each interruption in a row.
base::Duration restart_delay(const Job& job, const RestartRules& rules);

// "exit status 3: data error", "signal 9 (Killed)"
std::string meaning(const AttemptEnd& end);

}  // namespace esper::jobs
