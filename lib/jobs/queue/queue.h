#pragma once
// The queue: what users ask of jobs, and what follows from it and from the ends of attempts. On the loop's thread.
// What a method promises is in the database when it returns.

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/expected.h"
#include "jobs/queue/attempts.h"
#include "jobs/schedule/placement.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

struct QueueSetup {
  Attempts::Setup attempts;
  RestartRules restarts;
  Capacity capacity;
};

class Queue {
 public:
  // `changed` is called for each job whose state changed.
  Queue(boost::asio::io_context& loop, JobStore& store, QueueSetup setup, std::function<void(const Job&)> changed);

  // Once, before anything else: adopts the processes that live, settles those that do not.
  void recover();
  base::Expected<Job> submit(const Submission& submission, std::int64_t uid);
  enum class Action { kCancel, kPause, kResume, kRetry };
  friend constexpr auto names(Action) {
    return std::array{
        std::pair{Action::kCancel, std::string_view("cancel")}, std::pair{Action::kPause, std::string_view("pause")},
        std::pair{Action::kResume, std::string_view("resume")}, std::pair{Action::kRetry, std::string_view("retry")}};
  }
  // Fails with the reason where the job's state does not allow it.
  base::Expected<Job> act(JobId id, Action action, std::int64_t uid);
  base::Expected<Job> set_priority(JobId id, std::int64_t priority, std::int64_t uid);
  // No job begins any more; what runs goes on.
  void drain() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }
  // Why a queued job does not run now; empty: nothing known.
  std::string waiting_reason(const Job& job) const;

 private:
  void schedule();
  void look_or_put_off();
  void settle_ends();
  void look();
  void fail_hopeless();
  void start(Job job, const std::vector<std::int64_t>& gpus);
  void request_stop(Job& job, StopPurpose purpose);
  void ended(JobId id, const AttemptEnd& end);
  void finish(Job job, const AttemptEnd& end);
  void put_off(const Job& job, const AttemptEnd& end);
  std::vector<Job> startable(const std::vector<Job>& active);
  void save(const Job& job, const std::optional<Asked>& asked = {});

  boost::asio::io_context& loop_;
  JobStore& store_;
  const QueueSetup setup_;
  const std::function<void(const Job&)> changed_;
  Attempts attempts_;
  boost::asio::steady_timer retry_, wait_out_trouble_;
  std::map<JobId, std::chrono::steady_clock::time_point> not_before_;  // interrupted jobs, until their delay has passed
  std::map<JobId, std::string> reasons_;                               // of jobs that wait for resources
  std::map<JobId, AttemptEnd> ends_;                                   // that are not in the database yet
  std::set<JobId> doubtful_;                                           // a job that they come after may have failed
  std::string trouble_;                                                // of the database; empty: none
  bool is_draining_ = false, is_look_due_ = false;
};

}  // namespace esper::jobs
