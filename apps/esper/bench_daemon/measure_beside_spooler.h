#pragma once
// The daemon beside task-spooler, where that is installed: what both take while they have nothing to do, and how long
// their commands take that submit. One thread.

#include "esper/bench_daemon/daemon_figures.h"
#include "esper/bench_daemon/measured_place.h"

namespace esper {

// Both have no job.
void measure_idle(const MeasuredPlace& place, DaemonFigures& figures);
// As a person submits: a process each time. Where there is no task-spooler a note says so.
void measure_commands(const MeasuredPlace& place, DaemonFigures& figures);

}  // namespace esper
