#pragma once
// The attempts of jobs that have processes: starts them, learns of their end, stops them. On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "jobs/job/attempt_end.h"
#include "jobs/process/job_files.h"

namespace esper::jobs {

// Why the job cannot train in its run folder, as text for its user: the run there was made by others, or the run that
// it had when an attempt ended is gone, which must not become a training from the beginning unasked. Empty: it can.
// Throws base::IoError.
std::string wrong_run(const Job& job);

class Attempts {
 public:
  struct Setup {
    std::string folder;          // that has a folder for each job
    std::string program;         // esper
    base::Duration stop_grace;   // from the request to save and stop to the kill
    std::int64_t log_max_bytes;  // of a job's output before an attempt begins a new file
  };
  using Ended = std::function<void(JobId, const AttemptEnd&)>;

  // `ended` is called from the loop, once for each attempt that was started or adopted.
  Attempts(boost::asio::io_context& loop, Setup setup, Ended ended);
  ~Attempts();

  // The attempt whose number the job has. Nothing lives of it if this throws: std::system_error, base::IoError.
  // gpus: the UUIDs of those that it has.
  void start(const Job& job, const std::string& run_file, const std::vector<std::string>& gpus);
  // Of a job that another daemon began: nothing if its processes live, which are watched from here on; else their end.
  std::optional<AttemptEnd> adopt(const Job& job);
  // Asks the trainer to save and stop, and kills it after a while. Repeated calls change nothing.
  void stop(JobId job);
  // Whether it is watched here: started or adopted, and not ended yet.
  bool has(JobId job) const { return watches_.contains(job); }
  JobFolder folder_of(JobId job) const;

 private:
  struct Watch;
  void await(std::unique_ptr<Watch> made);
  void await_stop(Watch& watch, base::Duration time);
  Watch* find(JobId job, std::int64_t attempt) const;
  void look_at(JobId job);
  bool request_stop(Watch& watch) const;
  void kill(JobId job);
  AttemptEnd end_of(const Watch& watch) const;

  boost::asio::io_context& loop_;
  const Setup setup_;
  const Ended ended_;
  std::map<JobId, std::unique_ptr<Watch>> watches_;
};

}  // namespace esper::jobs
