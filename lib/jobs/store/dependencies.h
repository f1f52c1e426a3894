#pragma once
// Which jobs a job comes after, as rows of the database. No job comes after itself, directly or over others. One
// thread.

#include <map>
#include <string>
#include <vector>

#include "jobs/database/database.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// Why `job` cannot come after these, with the jobs' numbers; empty: it can. `job` 0 is one that is not made yet. Throws
// DatabaseError.
std::string why_not_after(Database& database, JobId job, const std::vector<JobId>& after);

// In place of those before; one that is given twice counts once. Throws DatabaseError, as all of these do.
void set_dependencies(Database& database, JobId job, const std::vector<JobId>& after);

// The job has succeeded just now: those that come after it have one less to wait for.
void count_success(Database& database, JobId job);
// Queued jobs of which one that they come after has failed, was cancelled or diverged. Looks at all that wait for jobs.
std::vector<JobId> with_failed_dependency(Database& database);
// Of the jobs that it comes after: those that failed, were cancelled or diverged.
std::vector<JobId> unsuccessful_before(Database& database, JobId job);
// The queued ones that come directly after this one.
std::vector<JobId> queued_after(Database& database, JobId job);

// Which jobs have not ended; each is looked up once, for lists in which thousands come after the same ones.
class UnfinishedJobs {
 public:
  explicit UnfinishedJobs(Database& database) : database_(database) {}
  // Of these, in the order of their ids.
  std::vector<JobId> among(const std::vector<JobId>& jobs);

 private:
  bool has(JobId job);

  Database& database_;
  std::map<JobId, bool> known_;
};

}  // namespace esper::jobs
