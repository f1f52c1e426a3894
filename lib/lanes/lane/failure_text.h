#pragma once
#include <exception>
#include <string>

namespace esper::lanes {

// What an exception says, in one sentence: of torch's without its backtrace, of a lack of memory in our own words.
std::string describe(const std::exception& error);

}  // namespace esper::lanes
