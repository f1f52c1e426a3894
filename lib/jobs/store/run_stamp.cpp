#include "jobs/store/run_stamp.h"

#include <chrono>

#include "base/clock.h"

namespace esper::jobs {

std::string run_stamp(std::int64_t at_ms) {
  std::string stamp;
  for (const char letter : base::rfc3339(std::chrono::milliseconds(at_ms)).substr(0, 19))
    if (letter != '-' && letter != ':') stamp += letter == 'T' ? '-' : letter;
  return stamp;
}

}  // namespace esper::jobs
