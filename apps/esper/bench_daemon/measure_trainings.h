#pragma once
// Trainings through the queue and alone, in turns. One thread.

#include "esper/bench_daemon/daemon_figures.h"
#include "esper/bench_daemon/measured_place.h"

namespace esper {

// Adds them to the figures; where one fails, a note.
void measure_trainings(const MeasuredPlace& place, DaemonFigures& figures);

}  // namespace esper
