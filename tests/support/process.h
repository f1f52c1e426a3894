#pragma once
// Runs a program as a user would.

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace esper::test {

struct Finished {
  int exit_code = -1;  // 128 + signal if a signal ended it
  bool timed_out = false;
  std::string out, err;
  std::chrono::duration<double, std::milli> took{0};
};

// A program beside this one. Neither of its streams is a terminal; they are read in wait(), so it stops after some
// 60 kB of output until then. Killed at the end of this object's life.
class RunningProgram {
 public:
  // `environment` entries ("NAME=value") come on top of this process's own.
  explicit RunningProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment = {});
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  pid_t process() const { return child_; }
  void send(int signal) const;
  // Whether it has ended; never waits.
  bool has_ended() const;
  // Its end. Kills it at the deadline, which counts from now. Once.
  Finished wait(std::chrono::milliseconds deadline = std::chrono::minutes(8));

 private:
  struct Pipes;
  std::unique_ptr<Pipes> pipes_;
  std::chrono::steady_clock::time_point start_;
  pid_t child_ = -1;  // -1 once its end was waited for
};

// Start to end. Kills the program at the deadline.
Finished run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment = {},
                     std::chrono::milliseconds deadline = std::chrono::minutes(8));

// A line for bash: the command with a standard output that nobody reads any more; its exit status.
std::string with_reader_gone(const std::string& command);

}  // namespace esper::test
