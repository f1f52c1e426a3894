#include "engine/end_in_time.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/exit_deadline.h"
#include "base/text/printable.h"
#include "engine/known_error.h"

namespace esper::engine {

std::function<void()> end_in_time(const config::RunConfig& config, int status, const std::string& text) {
  constexpr auto kJoining = std::chrono::seconds(10);
  return base::end_within(
      config.safety.save_deadline + kJoining, status,
      fmt::format("esper: {}; a thread of the process does not end; exiting without it\n", base::printable_line(text)));
}

std::function<void()> end_in_time(const config::RunConfig& config, const std::exception& error) {
  return end_in_time(config, static_cast<int>(exit_code_of(error)), error.what());
}

base::Duration longest_join(const config::RunConfig& config) {
  constexpr auto kBeyondCommand = std::chrono::seconds(20);
  return config.safety.save_deadline + kBeyondCommand;
}

}  // namespace esper::engine
