#pragma once
// Which jobs a job comes after, as rows of the database. No job comes after itself, directly or over others. One
// thread.

#include <string>
#include <vector>

#include "jobs/database/database.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// Why `job` cannot come after these, with the jobs' numbers; empty: it can. `job` 0 is one that is not made yet. Throws
// DatabaseError.
std::string why_not_after(Database& database, JobId job, const std::vector<JobId>& after);

// In place of those before. Throws DatabaseError.
void set_dependencies(Database& database, JobId job, const std::vector<JobId>& after);

}  // namespace esper::jobs
