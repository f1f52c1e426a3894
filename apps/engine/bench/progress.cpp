#include "engine/bench/progress.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text/progress_line.h"

namespace esper::engine::bench {
namespace {

constexpr const char* kCommand = "bench";

}  // namespace

void show_phase(const std::string& text) {
  base::show_progress(kCommand, base::is_progress_drawn() ? text + " ..." : text);
}

void show_rounds(int done, int total) {
  constexpr int kWidth = 40, kParts = 4;
  const std::string count = fmt::format("{} of {} rounds", done, total);
  if (base::is_progress_drawn()) {
    std::string bar(kWidth, ' ');
    std::fill_n(bar.begin(), kWidth * done / total, '#');
    return base::show_progress(kCommand, "[" + bar + "] " + count);
  }
  if (kParts * done / total != kParts * (done - 1) / total) base::show_progress(kCommand, count);
}

void end_progress() { base::end_progress(); }

}  // namespace esper::engine::bench
