#pragma once
// Which job a run folder is for, as rows of the database. One thread. Throw DatabaseError.

#include <optional>
#include <string>

#include "jobs/database/database.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// Why a new job cannot train there: a job that has not ended does, and each would continue the other's run. Empty: it
// can.
std::string why_not_there(Database& database, const std::string& run_dir);

// A later job that has trained in the job's run folder, or is to; nothing: none.
std::optional<JobId> later_owner(Database& database, const Job& job);

}  // namespace esper::jobs
