#pragma once
// What an exception of torch or of the system is to the user.

#include <exception>
#include <optional>

#include "base/error.h"

namespace esper::engine {

// Memory that is short is kResources, an operator that the settings forbid kConfig, a GPU that failed and any other
// error of torch kBug; a base::Error is itself. Empty for what is none of these.
std::optional<base::Error> known_error(const std::exception& error);
// Of a process that this error ends.
base::ExitCode exit_code_of(const std::exception& error);

}  // namespace esper::engine
