#pragma once
// The life of a job as a table of moves. Any thread.

#include <vector>

#include "jobs/job/job.h"

namespace esper::jobs {

// Succeeded, failed, cancelled, diverged. Only a retry leads out of them, and only out of the last three.
bool is_terminal(JobState state);
// Its processes exist, or may.
bool is_active(JobState state);
inline const std::vector<JobState> kActiveStates{JobState::kStarting, JobState::kRunning, JobState::kStopping};
bool may_move(JobState from, JobState to);

}  // namespace esper::jobs
