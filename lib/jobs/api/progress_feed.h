#pragma once
// Events about the progress of running jobs, for as long as anyone listens: each second it looks at their run folders
// and publishes what changed; when an attempt ends, what it wrote since the last look. Without listeners, or without
// running jobs, there is no timer. On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>

#include "jobs/progress/progress_reader.h"
#include "jobs/queue/delayed_call.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

class ProgressFeed {
 public:
  struct Listeners {
    std::function<bool()> any;                     // whether anyone listens
    std::function<void(const Progress&)> publish;  // the epochs since the job's last event
  };
  ProgressFeed(boost::asio::io_context& loop, JobStore& store, ProgressReader& reader, Listeners listeners);

  // Someone is about to listen.
  void wake();
  // To be called after each change of a job, before the job itself is published.
  void changed(const Job& job);

 private:
  void go_on();
  // Whether any job runs.
  bool look();
  void look_at(const Job& job);
  void look_at_ended(const Job& job);

  JobStore& store_;
  ProgressReader& reader_;
  const Listeners listeners_;
  DelayedCall next_look_;
  bool is_awake_ = false;
  std::map<JobId, ProgressMark> published_;  // of the jobs whose processes exist
};

}  // namespace esper::jobs
