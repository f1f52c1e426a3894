#include "base/exit_deadline.h"

#include <unistd.h>

#include <system_error>
#include <thread>
#include <utility>

namespace esper::base {

void end_within(Duration length, int status, std::string text) {
  try {
    std::thread([length, status, text = std::move(text)] {
      std::this_thread::sleep_for(length);
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
      ::_exit(status);
    }).detach();
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace esper::base
