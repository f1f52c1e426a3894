#pragma once
// The jobs in the database. Nothing is kept in memory: what a method returns is what is on the disk, and what it wrote
// is there when it returns. One thread. Methods throw DatabaseError; what they were to write is then not written.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "jobs/database/database.h"
#include "jobs/job/job.h"
#include "jobs/job/job_change.h"
#include "jobs/store/audit_log.h"
#include "jobs/store/job_rows.h"

namespace esper::jobs {

// Which jobs a list has where there are more than it may have, and how it orders them.
enum class JobOrder {
  kNewest,  // the newest ones, in the order of their ids
  kBegin,   // those whose turn is next: queued ones before others, then higher priorities, then older ones
  kEnded,   // those that ended last, the last one first
};
constexpr auto names(JobOrder) {
  using O = JobOrder;
  return std::array{std::pair{O::kNewest, std::string_view("newest")}, std::pair{O::kBegin, std::string_view("begin")},
                    std::pair{O::kEnded, std::string_view("ended")}};
}

struct JobFilter {
  std::vector<JobState> states{};  // empty: any
  std::string name{};              // empty: any
  std::int64_t sweep = 0;          // 0: any
  std::int64_t most = 10000;       // those that are first by `order`
  JobOrder order = JobOrder::kNewest;
  JobParts parts = JobParts::kAll;
};

class JobStore {
 public:
  explicit JobStore(Database database) : database_(std::move(database)) {}

  // A job of a sweep, which makes its run file when it begins. Within the caller's transaction, and without a line in
  // the audit log: the sweep has one.
  JobId insert_trial(const Submission& submission, const Asked& asked);
  // A job for each of its seeds, or one as it is where it has none; all or none. Those that were made for its token
  // before are not made again. Fails where a job of `after` does not exist, where its run folder is another unfinished
  // job's, and where the run file has no line for the seed.
  base::Expected<std::vector<Job>> submit(const Submission& submission, const Asked& asked);
  // The next job gets a higher number than this one, whatever the database has.
  void begin_after(JobId last);
  // Whether it was made already for its token.
  bool knows(const Submission& submission);
  std::optional<Job> find(JobId id);
  std::vector<Job> list(const JobFilter& filter);
  // Those that are queued, whose jobs of `after` have succeeded, and for which `could_begin` holds: higher priorities
  // first, then older ones. It is asked of each in this order until there are `most`, and changes none.
  std::vector<Job> ready(std::int64_t most, const std::function<bool(const Job&)>& could_begin);
  std::int64_t count(JobState state) const;
  // All that have not ended.
  std::vector<std::pair<JobId, JobState>> unfinished();
  // The run file of a job that is of no sweep. Throws missing_row() where it was lost.
  std::string config_of(JobId id);
  // All but the run file. ESPER_CHECK: the state may follow the one that is stored (job_states.h). `asked`: the
  // line that it gets in the audit log.
  void save(const Job& job, const std::optional<Asked>& asked = {});
  // All of the change or nothing, with one line in the audit log. Fails where the job's state does not allow it
  // (job_change.h), and where the job would come after itself.
  base::Expected<Job> edit(JobId id, const JobChange& change, const Asked& asked);
  Database& database() { return database_; }

 private:
  mutable Database database_;  // reading prepares statements
};

}  // namespace esper::jobs
