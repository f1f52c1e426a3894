#include "engine/bench/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace esper::engine::bench {
namespace {

bool is_terminal() { return isatty(STDERR_FILENO) != 0; }

void draw(const std::string& text) { std::fputs(("\r\033[K" + text).c_str(), stderr); }

}  // namespace

void show_phase(const std::string& text) {
  if (is_terminal()) return draw(text + " ...");
  std::fputs(("bench: " + text + "\n").c_str(), stderr);
}

void show_rounds(int done, int total) {
  constexpr int kWidth = 40, kParts = 4;
  const std::string count = std::to_string(done) + " of " + std::to_string(total) + " rounds";
  if (is_terminal()) {
    std::string bar(kWidth, ' ');
    std::fill_n(bar.begin(), kWidth * done / total, '#');
    std::fprintf(stderr, "\r\033[K[%s] %s", bar.c_str(), count.c_str());
    return;
  }
  if (kParts * done / total != kParts * (done - 1) / total) std::fputs(("bench: " + count + "\n").c_str(), stderr);
}

void end_progress() {
  if (is_terminal()) draw("");
}

}  // namespace esper::engine::bench
