#pragma once
// Jobs as rows of the table "jobs". One thread. Throw DatabaseError.

#include <string_view>
#include <vector>

#include "jobs/database/database.h"
#include "jobs/job/job.h"
#include "jobs/store/audit_log.h"

namespace esper::jobs {

// How much of each job is read. A forecast takes as long as all the rest.
enum class JobParts { kAll, kWithoutForecast };

// What a statement selects from "jobs" for the next two.
inline constexpr std::string_view kJobColumns =
    "id, name, state, purpose, reason, priority, threads, memory_bytes, gpus, assigned_gpus, folder, run_dir, "
    "attempts, interruptions, cause, checkpoint, exit_code, submitted_ms, started_ms, ended_ms, uid, sweep, epochs, "
    "(SELECT json_group_array(after) FROM dependencies WHERE job = jobs.id), peak_bytes, forecast";
Job job_in(const Statement& row, JobParts parts = JobParts::kAll);
// Of all rows that are left.
std::vector<Job> jobs_in(Statement& rows, JobParts parts = JobParts::kAll);

// A queued job, or a held one, without its run file and the jobs that it comes after.
JobId insert_job(Database& database, const Submission& submission, const Asked& asked);
// What may change of a job, but for its run file and the jobs that it comes after.
void update_job(Database& database, const Job& job);

}  // namespace esper::jobs
