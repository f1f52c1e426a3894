#pragma once
#include <exception>
#include <string>

namespace esper::lanes {

// The message of an exception in one sentence: torch's without its backtrace, out of memory in our own wording.
std::string describe(const std::exception& error);

}  // namespace esper::lanes
