#include "base/text/text_outlet.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/text/printable.h"
#include "base/text/timed_write.h"

namespace esper::base {
namespace {

// A file keeps its position in the descriptor that is shared, and takes all at once.
Descriptor reopened(int descriptor) {
  struct stat facts{};
  if (fstat(descriptor, &facts) != 0) return Descriptor();
  if (!S_ISFIFO(facts.st_mode) && isatty(descriptor) == 0) return Descriptor();
  const std::string name = fmt::format("/proc/self/fd/{}", descriptor);
  return Descriptor(open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

TextOutlet::TextOutlet(int descriptor, Duration deadline)
    : descriptor_(descriptor), deadline_(deadline), own_(reopened(descriptor)) {}

int TextOutlet::write(std::string_view text) {
  if (text.empty()) return 0;
  const Duration deadline = stuck_ ? Duration{} : deadline_;
  const std::unique_lock lock(mutex_, deadline);
  if (!lock) return ETIMEDOUT;
  const std::string whole = (torn_ ? "\n" : "") + std::string(text);
  const auto result = write_all(own_.is_open() ? own_.number() : descriptor_, whole, deadline);
  if (result.error != 0 && result.written > 0) torn_ = whole[result.written - 1] != '\n';
  if (result.error == 0) torn_ = false;
  stuck_ = result.error == ETIMEDOUT;
  return result.error;
}

TextOutlet& standard_error() {
  static auto* const instance = new TextOutlet(STDERR_FILENO);
  return *instance;
}

void print_failure(std::string_view message) {
  constexpr std::size_t kLongestLine = 5000;  // a path may have 4096
  std::string text;
  for (std::string_view rest = message; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    text += shortened(rest.substr(0, end), kLongestLine) + (end < rest.size() ? "\n" : "");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const char* no_colour = std::getenv("NO_COLOR");
  const bool coloured = (no_colour == nullptr || *no_colour == '\0') && isatty(STDERR_FILENO) == 1;
  standard_error().write((coloured ? "\033[31mesper:\033[0m " : "esper: ") + printable(text) + "\n");
}

}  // namespace esper::base
