#pragma once
// Who joins a run's threads waits for one that hangs: in a read from a dead network disk, say.

#include <exception>
#include <functional>
#include <string>

#include "base/quantity.h"
#include "config/run_config.h"

namespace esper::engine {

// Gives what follows the time of a last save and 10 seconds more, as base::end_within(): then the process ends with
// `status`, and prints `text` and that a thread hangs. Training thread.
std::function<void()> end_in_time(const config::RunConfig& config, int status, const std::string& text);
// The same of a command that this error ends.
std::function<void()> end_in_time(const config::RunConfig& config, const std::exception& error);

// How long the end of one thread may take where no command's deadline ends the process before.
base::Duration longest_join(const config::RunConfig& config);

}  // namespace esper::engine
