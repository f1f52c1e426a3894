#pragma once
// What the kernel reports about a process. Any thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace esper {

struct ProcessFacts {
  double resident_mib = 0;
  std::int64_t wakeups = 0;  // of all its threads, since they began: each wait that ended
};

// Nothing where it does not live.
std::optional<ProcessFacts> facts_of(pid_t process);

}  // namespace esper
