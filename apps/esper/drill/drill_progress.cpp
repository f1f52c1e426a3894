#include "esper/drill/drill_progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/text/printable.h"
#include "base/text/text_outlet.h"
#include "storage/file_tools.h"

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
  const auto folder = storage::parent_of(file);
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw base::Error(base::ExitCode::kConfig, fmt::format("--output {}: nothing can be written in {}: {}", file, folder,
                                                         std::generic_category().message(errno)));
}

}  // namespace esper
