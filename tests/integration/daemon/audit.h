#pragma once
// The audit log of a daemon that does not run.

#include <map>
#include <string>
#include <vector>

#include "jobs/job/job.h"

namespace esper::test {

// The states that each job was in, in order, without repetitions.
using Histories = std::map<jobs::JobId, std::vector<jobs::JobState>>;
Histories histories_of(const std::string& state_dir);

// Whether a job can have been in these states one after the other: it began held or queued, and each state may follow
// the one before.
bool is_legal(const std::vector<jobs::JobState>& history);
// How often it came to a state that nothing follows.
int times_ended(const std::vector<jobs::JobState>& history);

// The ids of the jobs in the order in which the log has their submissions.
std::vector<jobs::JobId> submitted_in(const std::string& state_dir);

}  // namespace esper::test
