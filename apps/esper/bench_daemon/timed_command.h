#pragma once
// A program's time from start to end, as a user waits for it.

#include <chrono>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace esper {

using CommandWords = std::vector<std::string>;

struct TimedCommand {
  double seconds = 0;
  int exit_code = 0;  // 128 + signal where a signal ended it
  std::string output{};
};

// `environment`: "NAME=value", all of it; empty: this process's own. Standard error is thrown away. Throws
// std::system_error where it cannot be started, and where it closes its output and has not ended after `end_time`: it
// is killed then.
TimedCommand time_command(const CommandWords& words, const std::vector<std::string>& environment = {},
                          base::Duration end_time = std::chrono::seconds(60));
// The same for a command without which there is no measurement. Throws base::Error{kResources}, with advice where
// it may be there later.
TimedCommand time_needed_command(const CommandWords& words, const std::vector<std::string>& environment = {},
                                 base::Duration end_time = std::chrono::seconds(60));
// This process's own environment, with these on top.
std::vector<std::string> environment_with(const std::vector<std::string>& more);

}  // namespace esper
