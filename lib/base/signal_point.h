#pragma once
// A fault point where the process gets a signal: armed as NAME.term (SIGTERM) or NAME.kill (SIGKILL), as in
// base/fault.h. Any thread.

#include <signal.h>

#include <string>
#include <string_view>

#include "base/fault.h"

namespace esper::base::fault {

inline void signal_point(std::string_view name) {
  if (internal::armed.load(std::memory_order_relaxed) == 0) return;
  if (hit(std::string(name) + ".term")) ::raise(SIGTERM);
  if (hit(std::string(name) + ".kill")) ::raise(SIGKILL);
}

}  // namespace esper::base::fault
