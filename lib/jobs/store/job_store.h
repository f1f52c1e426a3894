#pragma once
// The jobs in the database. Nothing is kept in memory: what a method returns is what is on the disk, and what it wrote
// is there when it returns. One thread. Methods throw DatabaseError; what they were to write is then not written.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "jobs/database/database.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// Who asked for a change, for the audit log. Its time is milliseconds since the UNIX epoch.
struct Asked {
  std::int64_t at_ms = 0;
  std::int64_t uid = 0;
  std::string what{};  // "submit", "cancel"
  std::string details{};
};

struct JobFilter {
  std::vector<JobState> states{};  // empty: any
  std::string name{};              // empty: any
  std::int64_t sweep = 0;          // 0: any
  std::int64_t most = 10000;
};

class JobStore {
 public:
  explicit JobStore(Database database) : database_(std::move(database)) {}

  // The new job, or the one that was made for this token before. Fails where a job of `after` does not exist.
  base::Expected<Job> submit(const Submission& submission, const Asked& asked);
  // A job of a sweep, which makes its run file when it begins. Within the caller's transaction, and without a line in
  // the audit log: the sweep has one.
  JobId insert_trial(const Submission& submission, const Asked& asked);
  std::optional<Job> find(JobId id);
  // In the order of their ids.
  std::vector<Job> list(const JobFilter& filter);
  // Those that are queued and whose jobs of `after` have succeeded: higher priorities first, then older ones.
  std::vector<Job> ready(std::int64_t most);
  // Queued, and a job that they wait for has failed, was cancelled or diverged.
  std::vector<Job> without_hope();
  std::int64_t count(JobState state) const;
  // The run file of a job that is of no sweep.
  std::string config_of(JobId id);
  // All but the run file. ESPER_CHECK: the state may follow the one that is stored (job_states.h). `asked`: by a user.
  void save(const Job& job, const std::optional<Asked>& asked = {});
  // A line in the audit log. `job`: 0 where it is about none.
  void note(const Asked& asked, JobId job);
  Database& database() { return database_; }

 private:
  std::vector<Job> read_all(Statement& rows);
  JobId insert(const Submission& submission, const Asked& asked);

  mutable Database database_;  // reading prepares statements
};

}  // namespace esper::jobs
