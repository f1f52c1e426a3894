#pragma once
// Lets jobs begin: which queued ones fit beside those that run, which running ones make room, and why the others wait.
// On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jobs/queue/attempts.h"
#include "jobs/queue/delayed_call.h"
#include "jobs/queue/job_updates.h"
#include "jobs/queue/made_room.h"
#include "jobs/queue/restart_delays.h"
#include "jobs/queue/run_forecasts.h"

namespace esper::jobs {

class Scheduler {
 public:
  struct Setup {
    ObserverSetup machine{};
    // How often it looks again while a job waits for what others than our jobs have taken.
    base::Duration look_again = std::chrono::seconds(30);
  };
  struct Callbacks {
    std::function<void()> look_again;                     // there may be something to do
    std::function<void(JobId, const AttemptEnd&)> ended;  // an attempt ended before it began
  };
  Scheduler(boost::asio::io_context& loop, JobStore& store, StoredSweeps& sweeps, JobUpdates& updates,
            Attempts& attempts, Setup setup, Callbacks callbacks);

  // Throws DatabaseError; what was decided and not written is decided again by the next call.
  void look();
  void delay(const Job& job, base::Duration delay) { delays_.add(job.id, delay); }
  const RunForecasts& forecasts() const { return forecasts_; }
  // Why a queued job does not run now; empty: nothing known.
  std::string waiting_reason(const Job& job) const;

 private:
  std::vector<Job> active_jobs();
  std::vector<Job> startable(const std::vector<Job>& active);
  bool could_begin(const Job& job);
  base::Expected<Job> forecast_of(const Job& job) const;
  void forecast_runs(std::vector<Job>& ready);
  void make_room(const Placement& placement, const std::vector<Job>& ready, const std::vector<Job>& active);
  void place_jobs(const std::vector<Job>& ready, const std::vector<Job>& active);
  void start(Job job, const std::vector<std::int64_t>& gpus);
  void yield(Job job);

  JobStore& store_;
  JobUpdates& updates_;
  Attempts& attempts_;
  const Callbacks callbacks_;
  const Observer observer_;
  const RunForecasts forecasts_;
  RestartDelays delays_;
  DelayedCall look_again_;
  std::map<JobId, std::string> reasons_;  // of jobs that wait for resources, or that there are too few for
  MadeRoom made_room_;
};

}  // namespace esper::jobs
