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

// Where it gets SIGTERM, SIGINT, SIGHUP or SIGKILL: armed as NAME.term, NAME.int, NAME.hup, NAME.kill.
inline void signal_point(std::string_view name) {
  if (internal::armed.load(std::memory_order_relaxed) == 0) return;
  if (hit(std::string(name) + ".term")) ::raise(SIGTERM);
  if (hit(std::string(name) + ".int")) ::raise(SIGINT);
  if (hit(std::string(name) + ".hup")) ::raise(SIGHUP);
  kill_point(std::string(name) + ".kill");
}

}  // namespace esper::base::fault
