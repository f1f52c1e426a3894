#include "engine/bench/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "base/text/printable.h"
#include "base/text/text_outlet.h"

namespace esper::engine::bench {
namespace {

bool is_terminal() { return isatty(STDERR_FILENO) != 0; }

void draw(const std::string& text) { base::standard_error().write("\r\033[K" + base::printable_line(text)); }

void print(const std::string& text) { base::standard_error().write("bench: " + base::printable_line(text) + "\n"); }

}  // namespace

void show_phase(const std::string& text) {
  if (is_terminal()) return draw(text + " ...");
  print(text);
}

void show_rounds(int done, int total) {
  constexpr int kWidth = 40, kParts = 4;
  const std::string count = fmt::format("{} of {} rounds", done, total);
  if (is_terminal()) {
    std::string bar(kWidth, ' ');
    std::fill_n(bar.begin(), kWidth * done / total, '#');
    return draw("[" + bar + "] " + count);
  }
  if (kParts * done / total != kParts * (done - 1) / total) print(count);
}

void end_progress() {
  if (is_terminal()) draw("");
}

}  // namespace esper::engine::bench
