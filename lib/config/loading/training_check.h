#pragma once
// What training refuses although the run file is valid. Any thread.

#include <optional>

#include "config/loading/load.h"

namespace esper::config {

// Adds, after the other problems, what training refuses on every machine: the graph lane on the CPU. No rule of
// read_run_config(): `esper bench` reports such a lane as not run, and `esper evaluate` takes a run's file whatever its
// lane.
void check_for_training(LoadedConfig& loaded);

// Adds, after the other problems, what training refuses on a machine without a GPU, and no rule of a run file that may
// be trained elsewhere is: the graph lane where device.kind: auto takes the CPU.
void check_without_gpu(LoadedConfig& loaded);

// Of a configuration without problems: the GPU that it asks for, where the machine has none. No mistake of the run
// file. Nothing where it asks for none.
std::optional<base::Problem> missing_gpu(const LoadedConfig& loaded);

}  // namespace esper::config
