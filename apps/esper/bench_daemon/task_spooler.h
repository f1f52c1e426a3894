#pragma once
// task-spooler (Debian package task-spooler, command tsp) beside the daemon: a server of its own that runs one command
// after the other. Its queue is in memory, without any file, and each queued command keeps a process.

#include <sys/types.h>

#include <string>
#include <vector>

namespace esper {

class TaskSpooler {
 public:
  // Its socket and outputs lie in `folder`, which exists.
  explicit TaskSpooler(std::string folder);
  // Ends all of its processes.
  ~TaskSpooler();
  TaskSpooler(const TaskSpooler&) = delete;
  TaskSpooler& operator=(const TaskSpooler&) = delete;

  // Whether the program is installed.
  bool is_here() const { return is_here_; }
  // Seconds of `tsp WORDS`.
  double queue(const std::vector<std::string>& words) const;
  // Its server, then one process for each command that runs or waits.
  std::vector<pid_t> processes() const;

 private:
  std::string mark() const { return "TS_SOCKET=" + folder_ + "/tsp.sock"; }

  const std::string folder_;
  bool is_here_ = false;
};

}  // namespace esper
