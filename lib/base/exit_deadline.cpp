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
  // One that is not lifted outlasts its owners, and ends the process.
  const std::shared_ptr<std::thread> thread(new std::thread, [](std::thread* last) {
    if (last->joinable()) last->detach();
    delete last;
  });
  try {
    *thread = std::thread([lifted, length, status, text = std::move(text)] {
      if (lifted->get_future().wait_for(length) == std::future_status::ready) return;
      [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
      ::_exit(status);
    });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
  }
  return [lifted, thread] {
    lifted->set_value();
    if (thread->joinable()) thread->join();
  };
}

}  // namespace esper::base
