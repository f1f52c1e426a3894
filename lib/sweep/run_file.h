#pragma once
// The run file of a sweep, and what it makes of the sweep's configurations. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/text/problem.h"
#include "config/loading/load.h"
#include "sweep/expand.h"
#include "sweep/sweep.h"

namespace esper::sweep {

// The run file alone, or why there is none. Of a file that is something else nothing is shown: the sweep file may come
// from somebody who cannot read it.
base::Expected<config::LoadedConfig> read_run_file(const std::string& path);

// All that the run file gives, with what it extends, as a text that stands alone: with a configuration's assignments it
// is read as the file is (Sweep::run_text).
std::string run_file_text(const config::LoadedConfig& run_file);

// The sweep's run file with assignments on top.
config::LoadedConfig read_with(const Sweep& sweep, const std::vector<std::string>& assignments);

// The run file of one job, as a run file that stands alone: every field. `configuration`: of configurations(). Throws
// base::ConfigError where the run file does not take it.
std::string trial_run_file(const Sweep& sweep, const Configuration& configuration, std::uint64_t seed,
                           std::optional<int> epochs);

// Where problems of configurations belong.
struct SweepPlaces {
  base::Place parameters, metric, method;
};

struct CheckedConfigurations {
  std::vector<base::Problem> problems;  // each with the first configuration that has it
  std::vector<base::Problem> warnings;  // of settings that are doubtful or without effect
};
// Reads the run file with each configuration as training would. A problem or warning has the place of the value that it
// is about; each is listed once.
CheckedConfigurations check_configurations(const Sweep& sweep, const std::vector<Configuration>& configurations,
                                           const SweepPlaces& places);

// The run file with one configuration's values as a run file that stands alone: every field, and with halving the
// epochs of the last rung. Throws base::ConfigError where the run file no longer takes them. index: below the size of
// configurations().
std::string best_run_file(const Sweep& sweep, std::size_t configuration);

}  // namespace esper::sweep
