#pragma once
// What every measurement of one `esper bench --scenario daemon` works with. One thread.

#include <string>

#include "base/scratch_folder.h"
#include "esper/bench_daemon/bench_daemon.h"
#include "esper/bench_daemon/measured_daemon.h"
#include "esper/bench_daemon/task_spooler.h"
#include "esper/bench_daemon/timed_command.h"

namespace esper {

struct MeasuredPlace {
  // Starts the daemon. Throws as MeasuredDaemon.
  explicit MeasuredPlace(const DaemonBench& wanted);

  std::string path(const std::string& name) const { return scratch.path() + "/" + name; }
  // `esper WORDS` with this daemon, in a process of its own.
  TimedCommand run_own(CommandWords words) const;

  const DaemonBench bench;
  const std::string yaml;  // of the training
  const base::ScratchFolder scratch{"esper-bench-daemon"};
  MeasuredDaemon daemon;
  const TaskSpooler spooler;
  const std::string run_file;  // has `yaml`
};

// On a terminal one line that is written over, else a line for each stage. Throws base::Error{kInterrupted} after a
// signal.
void show_stage(const std::string& stage, int done, int all);

}  // namespace esper
