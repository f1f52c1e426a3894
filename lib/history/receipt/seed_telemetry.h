#pragma once
// One seed's measurements in a run's telemetry.jsonl, by epoch. Bounded for any file contents.

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace esper::history {

// What it took to run the steps of a structure that changed: the event tolaria.growth_swapped. Of the step with that
// number, the first one of the structure.
struct StructureSwap {
  std::string lane;       // in which the steps ran then
  bool prepared = false;  // the step was ready before the change
  double prepare_ms = 0;  // spent in the background on its preparation
  double swap_us = 0;     // to activate it, between two steps
  double stall_ms = 0;    // swap_us, and what the slowest of the steps after it took above their median
};

struct SeedTelemetry {
  using ByEpoch = std::map<std::uint32_t, double>;  // epochs completed
  ByEpoch step_p50_us;                              // of the run
  ByEpoch validation_accuracy;                      // of the run, 0..1
  ByEpoch parameters;
  ByEpoch contribution_points, contribution_stderr_points, contribution_half_width_points;
  ByEpoch shapley_points, shapley_stderr_points, shapley_half_width_points;
  ByEpoch configurations_needed;  // for Shapley values, in epochs in which the budget did not hold them
  ByEpoch worth_points, worth_stderr_points, worth_half_width_points;
  ByEpoch worth_loss, worth_loss_stderr, worth_loss_half_width, worth_epochs;
  ByEpoch conflicts, conflict_ratio, isolation_violations;
  std::set<std::uint32_t> process_starts;       // of the run: epochs that a later process went on from
  std::map<std::int64_t, StructureSwap> swaps;  // of the run, by optimizer steps done before
};

// Where a run was resumed, the epochs that it went back behind are those of the later process. Adds to `gaps` what
// could not be read; a missing file is one.
SeedTelemetry read_seed_telemetry(const std::filesystem::path& run, const std::string& seed_id,
                                  std::vector<std::string>& gaps);

// Reads the measurements of the parent run's file for the epochs up to `until`, and of the steps up to
// `step`, in place of what is known of them.
void begin_with(SeedTelemetry& telemetry, const SeedTelemetry& before, std::uint32_t until, std::int64_t step);

}  // namespace esper::history
