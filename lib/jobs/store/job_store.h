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

// Who asked for a change, for the audit log; "daemon": nobody did. Its time is milliseconds since the UNIX epoch.
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
  std::optional<Job> find(JobId id);
  // In the order of their ids.
  std::vector<Job> list(const JobFilter& filter);
  // Those that are queued and whose jobs of `after` have succeeded: higher priorities first, then older ones.
  std::vector<Job> ready(std::int64_t most);
  // Queued, and a job that they wait for has failed, was cancelled or diverged. Looks at all that wait for jobs.
  std::vector<JobId> without_hope();
  // The same of one job.
  bool is_without_hope(JobId id);
  // The queued ones that come after this one.
  std::vector<JobId> queued_after(JobId id);
  std::int64_t count(JobState state) const;
  // The run file.
  std::string config_of(JobId id);
  // All but the run file. ESPER_CHECK: the state may follow the one that is stored (job_states.h). `asked`: the
  // line that it gets in the audit log.
  void save(const Job& job, const std::optional<Asked>& asked = {});

 private:
  std::vector<Job> read_all(Statement& rows);
  std::vector<JobId> read_ids(Statement& rows);
  void insert(const Submission& submission, const Asked& asked);
  void note(const Asked& asked, JobId job, JobState state);

  mutable Database database_;  // reading prepares statements
};

}  // namespace esper::jobs
