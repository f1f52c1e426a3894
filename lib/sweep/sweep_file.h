#pragma once
// Reads a sweep file (docs/sweep.md), with every problem at once: of the file, of its run file, and of each
// configuration as the run file takes it. Any thread.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/problem.h"
#include "sweep/sweep.h"

namespace esper::sweep {

struct LoadedSweep {
  Sweep sweep;                          // to be used only where there are no problems; nothing in it is left to default
  std::vector<base::Problem> problems;  // by place, those of the run file last
  std::vector<base::Problem> warnings;
};

LoadedSweep read_sweep(const std::string& path);
// The same for a text. `file`: what places show; its folder is where `config` is looked up.
LoadedSweep read_sweep_text(std::string_view text, const std::string& file);

// What was stored of a sweep: the sweep file's text and that of its run file (run_file_text()), which is read instead
// of the file that `config` names.
struct SweepTexts {
  std::string_view sweep, run_file;
};
// most_checked: of the configurations, which take a millisecond each, so many are read as a run would; the others were
// checked before, or are refused when their run begins.
LoadedSweep read_stored_sweep(const SweepTexts& texts, std::size_t most_checked);

}  // namespace esper::sweep
