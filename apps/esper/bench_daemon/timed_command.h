#pragma once
// A program's time from start to end, as a user waits for it.

#include <string>
#include <vector>

namespace esper {

using CommandWords = std::vector<std::string>;

struct TimedCommand {
  double seconds = 0;
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string output{};
};

// `environment`: "NAME=value", all of it; empty: this process's own. Standard error is thrown away. Throws
// std::system_error where it cannot be started.
TimedCommand time_command(const CommandWords& words, const std::vector<std::string>& environment = {});
// This process's own environment, with these on top.
std::vector<std::string> environment_with(const std::vector<std::string>& more);

}  // namespace esper
