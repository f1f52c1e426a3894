#pragma once
// The daemon's sweeps: expands them into jobs, lets these begin and go on, and knows what came out. All of it follows
// from the database, so a daemon that is killed between two writes leaves nothing undecided. On the loop's thread.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "jobs/store/sweep_store.h"
#include "jobs/sweeps/sweep_plan.h"
#include "sweep/expand.h"
#include "sweep/summary_json.h"

namespace esper::jobs {

inline constexpr std::int64_t kMostSweepsListed = 1000;  // where nobody asks for more

struct SweepReport {
  SweepRecord sweep;
  sweep::Summary summary;
};
constexpr auto json_members(const SweepReport*) {
  using R = SweepReport;
  return std::tuple{base::json_member("sweep", &R::sweep), base::json_member("summary", &R::summary)};
}

struct BestConfiguration {
  std::size_t configuration = 0;
  std::string config{};  // its run file
};
constexpr auto json_members(const BestConfiguration*) {
  using B = BestConfiguration;
  return std::tuple{base::json_member("configuration", &B::configuration), base::json_member("config", &B::config)};
}

class Sweeps {
 public:
  explicit Sweeps(JobStore& jobs) : jobs_(jobs), store_(jobs) {}

  // Its jobs are there, held, when this returns; drive() reports them and lets them begin. `submission` is one that was
  // checked.
  SweepRecord submit(const SweepSubmission& submission, const Asked& asked);
  // The newest ones, in the order of their ids.
  std::vector<SweepRecord> list(std::int64_t most = kMostSweepsListed) { return store_.list(most); }
  std::optional<SweepRecord> find(SweepId id) { return store_.find(id); }
  // Of a sweep that exists, as are the next ones. Throws base::ConfigError where this version does not take the stored
  // files any more, and where a row of the sweep's was lost (missing_row()).
  SweepReport report(SweepId id);
  // Fails where no configuration has all of its seeds yet.
  base::Expected<BestConfiguration> best(SweepId id);
  // Fail with the reason where the sweep's state does not allow it. A sweep that has ended can be cancelled as long as
  // it has jobs that have not.
  base::Expected<SweepRecord> cancel(SweepId id, const Asked& asked);
  base::Expected<SweepRecord> resume(SweepId id, const Asked& asked);

  // After a start of the daemon: those are due that have something to decide.
  void recover();
  // Something happened to a job of the sweep: it is due.
  void touch(SweepId id) { due_.insert(id); }
  // Decides for the sweeps that are due. The jobs that were made or changed since the last call, each once.
  std::vector<Job> drive(std::int64_t now_ms);
  // Instead of JobStore::save(), for a job of a sweep whose attempt has ended and was settled. One that reached a rung
  // below the last one is paused rather than succeeded, or cancelled where it was stopped for that, and its result is
  // stored with it. One that its user paused has no result at its rung until it has run again, so that the sweep does
  // not continue it. A paused job with Job::ended_ms above 0 is continued by its user alone: it trains to the last
  // rung's epochs then, outside of the table of results. Throws base::IoError where the result cannot be read now, and
  // has written nothing then.
  void save_end(Job& job, StopPurpose stopped_for, const Asked& asked);
  // Throws as report().
  std::string run_file_of(const Job& job);

 private:
  struct Loaded {
    sweep::Sweep sweep;
    std::vector<sweep::Configuration> configurations;
  };
  using Shared = std::shared_ptr<const Loaded>;
  static Loaded read(const std::string& sweep, const std::string& run_file);
  Shared load(SweepId id);
  // None, with a warning: this version does not take the stored files any more, or they are lost.
  Shared try_load(SweepId id);
  // Throws base::ConfigError where one is lost.
  std::vector<SweepTrial> all_trials_of(SweepId id, const Loaded& loaded);
  std::optional<SweepPlan> try_plan(SweepId id, const Loaded& loaded);  // none, with a warning: one is lost
  std::string free_run_dir(const std::string& wanted);
  std::vector<JobId> insert_jobs(const SweepRecord& record, const Loaded& loaded, const SweepSubmission& submission,
                                 const Asked& asked);
  void drive_one(const SweepRecord& record, std::int64_t now_ms);
  // The jobs that it changes. Within the caller's transaction, as the next one.
  std::vector<JobId> take_steps(const SweepRecord& record, const Loaded& loaded, std::int64_t now_ms);
  void save_rung(Job& job, const SweepTrial& trial, const sweep::Sweep& sweep, StopPurpose stopped_for,
                 std::optional<double> result);
  base::Expected<SweepRecord> existing(SweepId id);

  JobStore& jobs_;
  SweepStore store_;
  std::map<SweepId, Shared> loaded_;  // of some: read again where they are not there
  std::set<SweepId> due_;
  std::set<JobId> changed_;
};

}  // namespace esper::jobs
