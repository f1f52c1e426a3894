#include "nissa/log.h"

#include <time.h>
#include <unistd.h>

#include <string>

#include "leyline/printable.h"
#include "leyline/text_outlet.h"

namespace esper::nissa::log {
namespace {

// "14:03:59 warning: TEXT"
void write(const char* level, std::string_view text) {
  const time_t now = time(nullptr);
  tm local{};
  char clock[16] = "";
  if (localtime_r(&now, &local) != nullptr) strftime(clock, sizeof clock, "%H:%M:%S ", &local);
  // On a terminal a message first clears the line, where a progress bar may stand.
  const std::string begin = isatty(STDERR_FILENO) == 1 ? "\r\x1b[K" : "";
  leyline::standard_error().write(begin + clock + level + ": " + leyline::printable(text) + "\n");
}

}  // namespace

void info(std::string_view text) { write("info", text); }
void warning(std::string_view text) { write("warning", text); }
void error(std::string_view text) { write("error", text); }

}  // namespace esper::nissa::log
