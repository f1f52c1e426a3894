#pragma once
// task-spooler (Debian package task-spooler, command tsp) beside the daemon: a server of its own that runs one command
// after the other. Its queue is in memory, without any file, and each queued command keeps a process.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace esper {

class TaskSpooler {
 public:
  // Its socket and outputs lie in `folder`, which exists. end_time: as time_command() has it.
  explicit TaskSpooler(std::string folder, base::Duration end_time = std::chrono::seconds(60));
  // Ends all of its processes.
  ~TaskSpooler();
  TaskSpooler(const TaskSpooler&) = delete;
  TaskSpooler& operator=(const TaskSpooler&) = delete;

  // Whether the program is installed and runs.
  bool is_here() const { return why_absent_.empty(); }
  // The reason where it is not: for people.
  const std::string& why_absent() const { return why_absent_; }
  // Seconds of `tsp WORDS`. Throws as time_needed_command().
  double queue(const std::vector<std::string>& words) const;
  // Its server, then one process for each command that runs or waits.
  std::vector<pid_t> processes() const;

 private:
  std::string mark() const { return "TS_SOCKET=" + folder_ + "/tsp.sock"; }

  const std::string folder_;
  const base::Duration end_time_;
  const std::string why_absent_;
};

}  // namespace esper
