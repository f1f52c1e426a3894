#include "engine/end_in_time.h"

#include <fmt/core.h>

#include "base/exit_deadline.h"
#include "base/text/printable.h"

namespace esper::engine {

std::function<void()> end_in_time(const config::RunConfig& config, int status, const std::string& text) {
  constexpr auto kJoining = std::chrono::seconds(3);
  return base::end_within(
      config.safety.save_deadline + kJoining, status,
      fmt::format("esper: {}; a thread of the process does not end, and is left behind\n", base::printable_line(text)));
}

}  // namespace esper::engine
