#include "base/text/progress_line.h"

#include <unistd.h>

#include "base/text/printable.h"
#include "base/text/text_outlet.h"

namespace esper::base {

bool is_progress_drawn() { return ::isatty(STDERR_FILENO) == 1; }

void show_progress(const std::string& command, const std::string& text) {
  const std::string line = printable_line(text);
  standard_error().write(is_progress_drawn() ? "\r\033[K" + line : command + ": " + line + "\n");
}

void end_progress() {
  if (is_progress_drawn()) standard_error().write("\r\033[K");
}

}  // namespace esper::base
