#include "engine/end_in_time.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/exit_deadline.h"
#include "base/text/printable.h"
#include "device/out_of_memory.h"

namespace esper::engine {
namespace {

int status_of(const std::exception& error) {
  if (const auto* known = dynamic_cast<const base::Error*>(&error)) return static_cast<int>(known->code());
  const bool lacks_memory = !device::out_of_memory_message(error).empty();
  return static_cast<int>(lacks_memory ? base::ExitCode::kResources : base::ExitCode::kBug);
}

}  // namespace

std::function<void()> end_in_time(const config::RunConfig& config, int status, const std::string& text) {
  constexpr auto kJoining = std::chrono::seconds(10);
  return base::end_within(
      config.safety.save_deadline + kJoining, status,
      fmt::format("esper: {}; a thread of the process does not end, and is left behind\n", base::printable_line(text)));
}

std::function<void()> end_in_time(const config::RunConfig& config, const std::exception& error) {
  return end_in_time(config, status_of(error), error.what());
}

}  // namespace esper::engine
