#pragma once
// What training refuses although the run file is valid. Any thread.

#include "config/loading/load.h"

namespace esper::config {

// Adds, after the other problems, what training refuses on every machine: the graph lane on the CPU. No rule of
// read_run_config(): `esper bench` reports such a lane as not run, and `esper evaluate` takes a run's file whatever its
// lane.
void check_for_training(LoadedConfig& loaded);

}  // namespace esper::config
