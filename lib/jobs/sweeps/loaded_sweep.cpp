#include "jobs/sweeps/loaded_sweep.h"

#include <utility>

#include "base/text/problem.h"
#include "sweep/sweep_file.h"

namespace esper::jobs {

LoadedSweep load_sweep(const std::string& sweep, const std::string& run_file) {
  auto read = sweep::read_stored_sweep({sweep, run_file}, 0);
  if (!read.problems.empty()) throw base::ConfigError(std::move(read.problems));
  auto configurations = sweep::configurations(read.sweep);
  return {std::move(read.sweep), std::move(configurations)};
}

}  // namespace esper::jobs
