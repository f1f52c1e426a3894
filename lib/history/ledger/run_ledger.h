#pragma once
// Where a run's time went, read back from its folder, whatever happened to the run.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/ledger/owner.h"

namespace esper::history {

struct RunLedger {
  std::array<double, base::kNumOwners> ms{};  // by base::index_of(owner), over all processes of the run
  double wall_ms = 0;                         // of the same time: by the clock if summary.json has it, else the sum
  std::int64_t processes = 0;
  std::int64_t epochs = 0;                         // different ones that ended
  std::int64_t epochs_again = 0;                   // repeated, because a process ended before they were saved
  std::string device;                              // "cpu", "cuda:0"; empty if not known
  std::string status;                              // of the newest summary.json; empty without one
  std::optional<double> step_p50_us, step_p95_us;  // of the newest epoch that has it
  std::optional<std::int64_t> skipped_steps;       // that fp16's loss scaling skipped, in all of the run; else nothing
  std::int64_t steps = 0;                          // in all of the run, as far as it is recorded
  double policy_timeouts = 0;                      // late decisions
  std::vector<std::string> gaps;                   // gaps in the coverage, as text
  std::size_t damaged_lines = 0;                   // of telemetry.jsonl

  double of(base::Owner owner) const { return ms[base::index_of(owner)]; }
  // Of the steps.
  double skipped_share() const {
    return steps > 0 ? std::clamp(static_cast<double>(skipped_steps.value_or(0)) / static_cast<double>(steps), 0.0, 1.0)
                     : 0;
  }
};

// Takes the time of the process that wrote summary.json from there, and of all others from the packets in
// telemetry.jsonl. Each file may be missing, or damaged in part; needs memory for one line at a time. Throws
// base::Error{kData} if neither has any times.
RunLedger read_run_ledger(const std::filesystem::path& run);

}  // namespace esper::history
