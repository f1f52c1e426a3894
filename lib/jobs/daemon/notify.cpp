#include "jobs/daemon/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/descriptor.h"
#include "base/parse_number.h"
#include "jobs/api/responses.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

constexpr std::int64_t kMostWatchdogUs = 86'400'000'000;

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

}  // namespace

ServiceManager take_service_manager() {
  ServiceManager manager{.socket = take_variable("NOTIFY_SOCKET")};
  const std::string pid = take_variable("WATCHDOG_PID");
  const auto period = base::parse_number<std::int64_t>(take_variable("WATCHDOG_USEC"));
  const bool is_ours = pid.empty() || base::parse_number<std::int64_t>(pid) == ::getpid();
  if (is_ours && period && *period > 0 && *period <= kMostWatchdogUs)
    manager.watchdog = std::chrono::microseconds(*period);
  return manager;
}

bool notify(const ServiceManager& manager, std::string_view state) {
  const std::string& socket = manager.socket;
  sockaddr_un address{};
  const bool is_address = socket.size() > 1 && (socket[0] == '/' || socket[0] == '@');
  if (!is_address || socket.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  socket.copy(address.sun_path, socket.size());
  if (socket[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const base::Descriptor sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!sender.is_open()) return false;
  return ::sendto(sender.number(), state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address), length) == static_cast<ssize_t>(state.size());
}

ServiceNotices::ServiceNotices(boost::asio::io_context& loop, ServiceManager manager)
    : manager_(std::move(manager)), sign_of_life_(loop, manager_.watchdog / 2, [this] { report_life(); }) {}

void ServiceNotices::ready() {
  if (manager_.socket.empty()) return;
  if (!notify(manager_, "READY=1")) nissa::log::warning("the service manager at NOTIFY_SOCKET cannot be reached");
  if (manager_.watchdog.count() > 0) sign_of_life_.start();
}

void ServiceNotices::status(const std::string& text) { notify(manager_, "STATUS=" + text); }

void ServiceNotices::stopping() { notify(manager_, "STOPPING=1"); }

void ServiceNotices::report_life() {
  notify(manager_, "WATCHDOG=1");
  sign_of_life_.start();
}

}  // namespace esper::jobs
