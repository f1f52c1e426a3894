#pragma once
// A process that has done its work ends, whatever its threads wait for: one that reads from a dead network disk cannot
// be stopped, and whoever joins it waits with it.

#include <functional>
#include <string>

#include "base/clock.h"

namespace esper::base {

// If this process has not ended by itself after `length`, prints `text` on standard error and ends it with `status`,
// unless the function that is returned was called before, at most once; it leaves no thread behind. Where no thread can
// be started, there is no deadline. Any thread.
std::function<void()> end_within(Duration length, int status, std::string text);

}  // namespace esper::base
