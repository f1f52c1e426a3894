#include "base/text/standard_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text/printable.h"
#include "base/text/text_outlet.h"

namespace esper::base {
namespace {

std::string loss_text(int error) {
  return "the result could not be written to standard output: " +
         (error == ETIMEDOUT ? "it was not read in time" : std::generic_category().message(error));
}

// 0, or an errno.
int write_waiting(std::string_view text) {
  while (!text.empty()) {
    const auto count = write(STDOUT_FILENO, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd room{STDOUT_FILENO, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void keep_standard_streams() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // The lowest free number, so this very one. The other direction than its own: reading or writing it fails.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1) return;
  }
}

void write_output(std::string_view text) {
  const int error = write_waiting(text);
  if (error == EPIPE) throw BrokenPipe();
  if (error != 0) throw Error(ExitCode::kResources, loss_text(error));
}

void write_output_in_time(std::string_view text) {
  const int error = TextOutlet(STDOUT_FILENO).write(text);
  if (error != 0 && error != EPIPE) print_failure(loss_text(error));
}

void wait_until_readable(std::initializer_list<int> descriptors) {
  std::vector<pollfd> waiting{{STDOUT_FILENO, 0, 0}};
  for (const int descriptor : descriptors) waiting.push_back({descriptor, POLLIN, 0});
  poll(waiting.data(), waiting.size(), -1);
  if ((waiting.front().revents & (POLLERR | POLLHUP)) != 0) throw BrokenPipe();
}

void write_text(std::string_view text) { write_output(printable(text)); }

void write_line(std::string_view text) { write_output(printable_line(text) + "\n"); }

std::string json_text(const nlohmann::ordered_json& document) {
  return printable_json(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

void write_json(const nlohmann::ordered_json& document) { write_output(json_text(document)); }

}  // namespace esper::base
