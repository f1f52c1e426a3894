#pragma once
// All jobs of a sweep at once, as rows of the database. One thread. Throw DatabaseError.

#include <cstdint>
#include <string_view>
#include <vector>

#include "jobs/database/database.h"
#include "jobs/job/sweep_record.h"

namespace esper::jobs {

// In the reason of a job that is paused at its rung, while its sweep may let it go on.
inline constexpr std::string_view kMayGoOn = "goes on if it is among the best of its sweep";

// The sweep has ended: from here on only their user continues the jobs that are paused, which Job::ended_ms and the
// reason say. All that are changed.
std::vector<JobId> leave_paused(Database& database, SweepId sweep, std::int64_t at_ms);
// Of those that were left so: the ones that their user has resumed since.
std::vector<JobId> resumed_jobs_of(Database& database, SweepId sweep);
// Lets these train to that many epochs.
void train_on(Database& database, const std::vector<JobId>& jobs, std::int64_t epochs);
// Jobs that wait are cancelled, those that run are to stop. All that are changed.
std::vector<JobId> cancel_jobs_of(Database& database, SweepId sweep, std::int64_t at_ms);

}  // namespace esper::jobs
