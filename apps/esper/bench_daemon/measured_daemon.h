#pragma once
// A daemon of its own, in a folder of its own, and how long its answers take. One thread.

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/job/job.h"

namespace esper {

// An answer, and the time from the request's first byte to the answer's last one.
struct TimedAnswer {
  double ms = 0;
  std::size_t bytes = 0;
  nlohmann::json document{};
};

class MeasuredDaemon {
 public:
  // `folder` exists. Throws base::Error where no daemon comes.
  explicit MeasuredDaemon(std::string folder);
  // Kills it. What its jobs started ends with their training.
  ~MeasuredDaemon();
  MeasuredDaemon(const MeasuredDaemon&) = delete;
  MeasuredDaemon& operator=(const MeasuredDaemon&) = delete;

  // From its start to its first answer, in milliseconds.
  double start();
  // Throws base::Error where it does not end.
  void kill();
  pid_t process() const { return process_; }
  std::string state_dir() const { return folder_ + "/state"; }
  // Throws base::Error where it is refused.
  TimedAnswer ask(const std::string& method, const std::string& target, const nlohmann::json& body = nullptr) const;
  TimedAnswer submit(const jobs::Submission& submission) const;

 private:
  bool end();

  const std::string folder_;
  pid_t process_ = 0;
};

}  // namespace esper
