#pragma once
// Runs a program as a user would.

#include <chrono>
#include <string>
#include <vector>

namespace esper::test {

struct Finished {
  int exit_code = -1;  // 128 + signal if a signal ended it
  bool timed_out = false;
  std::string out, err;
  std::chrono::duration<double, std::milli> took{0};
};

// Neither stream is a terminal. `environment` entries ("NAME=value") come on top of this process's own. Kills the
// program at the deadline.
Finished run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment = {},
                     std::chrono::milliseconds deadline = std::chrono::seconds(60));

}  // namespace esper::test
