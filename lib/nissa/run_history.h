#pragma once
// A run's growth, read back from its folder, whatever happened to the run.

#include <string>
#include <vector>

#include "leyline/growth_history.h"

namespace esper::nissa {

struct RunHistory {
  leyline::GrowthHistory history;
  std::vector<std::string> gaps;  // what could not be read, in words
};

// Throws leyline::Error: kConfig where there is no run, kData where it has no journal, kCheckpoint where the file is
// none, and IoError.
RunHistory read_run_history(const std::string& run);

}  // namespace esper::nissa
