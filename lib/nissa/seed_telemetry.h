#pragma once
// What a run's telemetry.jsonl measured of one seed, by epoch. Bounded, whatever the file holds.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace esper::nissa {

struct SeedTelemetry {
  using ByEpoch = std::map<std::uint32_t, double>;  // epochs completed
  ByEpoch step_p50_us;                              // of the run
  ByEpoch contribution_points, contribution_stderr_points, shapley_points, shapley_stderr_points;
  ByEpoch conflicts, conflict_ratio, isolation_violations;
};

// Where a run was resumed, the epochs that it went back behind are those of the later process. Adds to `gaps` what
// could not be read; a missing file is one.
SeedTelemetry read_seed_telemetry(const std::filesystem::path& run, const std::string& seed_id,
                                  std::vector<std::string>& gaps);

}  // namespace esper::nissa
