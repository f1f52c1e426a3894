#include "base/text/standard_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/text/printable.h"

namespace esper::base {

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
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  const int reason = errno;
  if (reason == EPIPE) throw BrokenPipe();
  throw Error(ExitCode::kResources,
              "the result could not be written to standard output: " + std::generic_category().message(reason));
}

void wait_until_readable(std::initializer_list<int> descriptors) {
  std::vector<pollfd> waiting{{STDOUT_FILENO, 0, 0}};
  for (const int descriptor : descriptors) waiting.push_back({descriptor, POLLIN, 0});
  poll(waiting.data(), waiting.size(), -1);
  if ((waiting.front().revents & (POLLERR | POLLHUP)) != 0) throw BrokenPipe();
}

void write_text(std::string_view text) { write_output(printable(text)); }

void write_line(std::string_view text) { write_output(printable_line(text) + "\n"); }

std::string json_text(const nlohmann::ordered_json& json) {
  return printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

void write_json(const nlohmann::ordered_json& json) { write_output(json_text(json)); }

}  // namespace esper::base
