#include "esper/bench_daemon/measured_place.h"

#include <fmt/core.h>

#include <fstream>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/text/progress_line.h"
#include "config/writing/write.h"
#include "esper/own_program.h"

namespace esper {

MeasuredPlace::MeasuredPlace(const DaemonBench& wanted)
    : bench(wanted),
      yaml(config::resolved_yaml(bench.config)),
      daemon(scratch.path()),
      spooler(scratch.path()),
      run_file(path("run.yaml")) {
  std::ofstream(run_file) << yaml;
}

TimedCommand MeasuredPlace::run_own(CommandWords words) const {
  words.insert(words.begin(), own_program());
  words.insert(words.end(), {"--state-dir", daemon.state_dir()});
  return time_needed_command(words);
}

void show_stage(const std::string& stage, int done, int all) {
  if (base::Interrupt::requested() != 0) throw base::Error(base::ExitCode::kInterrupted, "cancelled");
  if (base::is_progress_drawn()) {
    base::show_progress("bench", fmt::format("{} {}/{}", stage, done, all));
  } else if (done == 0) {
    base::show_progress("bench", stage);
  }
}

}  // namespace esper
