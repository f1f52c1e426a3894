#include "base/exit_deadline.h"

#include <unistd.h>

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace esper::base {

std::function<void()> end_within(Duration length, int status, std::string text) {
  const auto lifted = std::make_shared<std::promise<void>>();
  try {
    std::thread([lifted, length, status, text = std::move(text)] {
      if (lifted->get_future().wait_for(length) == std::future_status::ready) return;
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
      ::_exit(status);
    }).detach();
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
  }
  return [lifted] { lifted->set_value(); };
}

}  // namespace esper::base
