#include "esper/drill/drill_progress.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text/printable.h"
#include "base/text/text_outlet.h"

namespace esper {
namespace {

bool is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace

void show_drill_progress(const std::string& command, const std::string& text) {
  const std::string line = base::printable_line(text);
  base::standard_error().write(is_terminal() ? "\r\033[K" + line + " ..." : command + ": " + line + "\n");
}

void DrillProgress::end() const {
  if (is_terminal()) base::standard_error().write("\r\033[K");
}

void refuse_unwritable(const std::string& file) {
  const auto refuse = [&](const std::string& reason) {
    throw base::Error(base::ExitCode::kConfig, fmt::format("--output {}: {}; name another file", file, reason));
  };
  struct stat found{};
  if (::lstat(file.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) refuse("is there and is no regular file");
  const std::string probe = fmt::format("{}.tmp-{}", file, ::getpid());
  const base::Descriptor made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.is_open()) refuse("cannot be written: " + std::generic_category().message(errno));
  ::unlink(probe.c_str());
}

}  // namespace esper
