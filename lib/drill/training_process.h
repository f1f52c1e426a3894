#pragma once
// A training as a child process. It is killed, with its process group, at the end of this object's life and when this
// process ends. One thread.

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace esper::drill {

// What ended a process: 0 where the other one did.
struct ProcessEnd {
  int exit_code = 0, signal = 0;
  bool is_done() const { return exit_code == 0 && signal == 0; }
};
// "exit status 4", "signal 9"
std::string text_of(const ProcessEnd& end);

class TrainingProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // command: a program and its arguments. Its standard output and standard error are appended to the file `output`.
  // environment: "NAME=value", beside this process's own. Throws Error{kResources} where it cannot be started.
  TrainingProcess(const std::vector<std::string>& command, const std::string& output,
                  const std::vector<std::string>& environment = {});
  ~TrainingProcess();
  TrainingProcess(const TrainingProcess&) = delete;
  TrainingProcess& operator=(const TrainingProcess&) = delete;

  // How it ended; nothing: it still runs at the deadline. Throws Error with 128 + signal as its exit code where the
  // user wants this process to stop (Stop in stop.h).
  std::optional<ProcessEnd> wait_until(Clock::time_point deadline);
  void send(int signal) const;

 private:
  pid_t process_ = -1;  // -1 once its end is known
  std::optional<ProcessEnd> end_;
};

}  // namespace esper::drill
