#pragma once
// A sweep's two files, parsed. Any thread.

#include <string>
#include <vector>

#include "sweep/expand.h"
#include "sweep/sweep.h"

namespace esper::jobs {

struct LoadedSweep {
  sweep::Sweep sweep;
  std::vector<sweep::Configuration> configurations;
};

// Throws base::ConfigError where this version does not take the files.
LoadedSweep load_sweep(const std::string& sweep, const std::string& run_file);

}  // namespace esper::jobs
