#pragma once
// Points between two steps where a test kills this process, armed as in base/fault.h. Any thread.

#include <signal.h>

#include <string_view>

#include "base/fault.h"

namespace esper::jobs {

inline void kill_point(std::string_view name) {
  if (base::fault::hit(name)) ::raise(SIGKILL);
}

}  // namespace esper::jobs
