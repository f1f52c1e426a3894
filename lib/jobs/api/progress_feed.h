#pragma once
// Events about the progress of running jobs, for as long as anyone listens: each second it looks at their run folders
// and publishes what changed. Without listeners, or without running jobs, there is no timer. On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>

#include "jobs/progress/progress_reader.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

class ProgressFeed {
 public:
  struct Listeners {
    std::function<bool()> any;                     // whether anyone listens
    std::function<void(const Progress&)> publish;  // the epochs since the job's last event
  };
  ProgressFeed(boost::asio::io_context& loop, JobStore& store, ProgressReader& reader, Listeners listeners)
      : store_(store), reader_(reader), listeners_(std::move(listeners)), timer_(loop) {}

  // Someone is about to listen.
  void wake();
  // To be called after each change of a job.
  void changed(const Job& job);

 private:
  // Whether any job runs.
  bool look();
  void look_at(const Job& job);

  JobStore& store_;
  ProgressReader& reader_;
  const Listeners listeners_;
  boost::asio::steady_timer timer_;
  bool is_awake_ = false;
  std::map<JobId, ProgressMark> published_;  // of the running jobs
};

}  // namespace esper::jobs
