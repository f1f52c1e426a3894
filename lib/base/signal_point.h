#pragma once
// Fault points where the process gets a signal. Any thread.

#include <signal.h>

#include <string>
#include <string_view>

#include "base/fault.h"

namespace esper::base::fault {

// Where it is killed (SIGKILL), between two steps.
inline void kill_point(std::string_view name) {
  if (hit(name)) ::raise(SIGKILL);
}

// Where it gets SIGTERM, armed as NAME.term, or SIGKILL, armed as NAME.kill.
inline void signal_point(std::string_view name) {
  if (internal::armed.load(std::memory_order_relaxed) == 0) return;
  if (hit(std::string(name) + ".term")) ::raise(SIGTERM);
  kill_point(std::string(name) + ".kill");
}

}  // namespace esper::base::fault
