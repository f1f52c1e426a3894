#pragma once
// The lock of the daemon's folder: one daemon for one folder. Any thread.

#include <optional>
#include <string>

#include "base/descriptor.h"

namespace esper::jobs {

// Held while the descriptor is open. Throws Error{kTryAgain} with the process that has it, and IoError.
base::Descriptor lock_state(const std::string& state_dir);

// For commands that find nobody listening: why, where a daemon holds the lock and its socket file is not there. Empty
// otherwise.
std::optional<std::string> lost_socket(const std::string& state_dir);

}  // namespace esper::jobs
