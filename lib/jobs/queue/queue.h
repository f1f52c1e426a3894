#pragma once
// The queue: what users ask of jobs, and what follows from it and from the ends of attempts. On the loop's thread.
// What a method promises is in the database when it returns.

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "jobs/queue/attempts.h"
#include "jobs/schedule/observation.h"
#include "jobs/schedule/placement.h"
#include "jobs/store/job_store.h"
#include "jobs/sweeps/sweeps.h"

namespace esper::jobs {

struct QueueSetup {
  Attempts::Setup attempts;
  RestartRules restarts;
  ObserverSetup machine;
  // How often it looks again while a job waits for what others than our jobs have taken.
  base::Duration look_again = std::chrono::seconds(30);
};

class Queue {
 public:
  // `changed` is called for each job whose state changed.
  Queue(boost::asio::io_context& loop, JobStore& store, Sweeps& sweeps, QueueSetup setup,
        std::function<void(const Job&)> changed);

  // Once, before anything else: adopts the processes that live, settles those that do not.
  void recover();
  // Its configuration has no mistakes. Fails with the reason where it could never begin here.
  base::Expected<Job> submit(const Submission& submission, std::int64_t uid);
  // One job for each of its seeds.
  base::Expected<std::vector<Job>> submit_each(const Submission& submission, std::int64_t uid);
  // kPause also holds a queued job back; kHold does nothing else.
  enum class Action { kCancel, kPause, kHold, kResume, kRetry };
  friend constexpr auto names(Action) {
    return std::array{
        std::pair{Action::kCancel, std::string_view("cancel")}, std::pair{Action::kPause, std::string_view("pause")},
        std::pair{Action::kHold, std::string_view("hold")}, std::pair{Action::kResume, std::string_view("resume")},
        std::pair{Action::kRetry, std::string_view("retry")}};
  }
  // Fails with the reason where the job's state does not allow it.
  base::Expected<Job> act(JobId id, Action action, std::int64_t uid);
  // Fails as JobStore::edit().
  base::Expected<Job> edit(JobId id, const JobChange& change, std::int64_t uid);
  // No job begins any more; what runs goes on.
  void drain() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }
  // Why a queued job does not run now; empty: nothing known.
  std::string waiting_reason(const Job& job) const;
  // What the job trains with. Throws base::ConfigError where this version does not take the files of its sweep any
  // more.
  std::string run_file_of(const Job& job);
  // Looks for what can begin and what is to stop, once for all that happened in this turn of the loop.
  void schedule();

 private:
  void look();
  void start(Job job, const std::vector<std::int64_t>& gpus);
  void request_stop(Job& job, StopPurpose purpose);
  void ended(JobId id, const AttemptEnd& end);
  void finish(Job job, const AttemptEnd& end);
  void put_off(const Job& job);
  std::vector<Job> startable();
  void forecast_runs(std::vector<Job>& ready);
  bool forecast_run(Job& job);
  base::Expected<Submission> admitted_here(const Submission& submission) const;
  void place_jobs(const std::vector<Job>& ready);
  void save(const Job& job, const std::optional<Asked>& asked = {});

  boost::asio::io_context& loop_;
  JobStore& store_;
  Sweeps& sweeps_;
  const QueueSetup setup_;
  const std::function<void(const Job&)> changed_;
  const Observer observer_;
  Attempts attempts_;
  boost::asio::steady_timer retry_, look_again_;
  std::map<JobId, std::chrono::steady_clock::time_point> not_before_;  // interrupted jobs, until their delay has passed
  std::map<JobId, std::string> reasons_;                               // of jobs that wait for resources
  bool is_draining_ = false, is_look_due_ = false;
};

}  // namespace esper::jobs
