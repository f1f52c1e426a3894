#pragma once
// The fault points of a training, by name (lib/base/fault.h). docs/drills.md says what fails at each. Any thread.

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace esper::drill {

inline constexpr std::array kFaultPoints = std::to_array<std::string_view>({
    "data.batch",
    "data.hangs",
    "device.allocation",
    "device.late_error",
    "device.pinned_memory",
    "lanes.capture",
    "lanes.capture_memory",
    "lanes.compiled_step",
    "lanes.recording",
    "nissa.sink_blocks",
    "program.worker_hangs",
    "program.worker_killed",
    "step.allocation",
    "step.gradient",
    "storage.map",
    "storage.publish",
    "tamiyo.decide",
    "tamiyo.late",
    "tamiyo.process_killed",
    "tolaria.nan_input",
    "tolaria.rollback_fails",
    "tolaria.rollback_slow",
    "tolaria.setting_accepted",
    "tolaria.setting_recorded",
    "tolaria.step_memory",
    "tolaria.step_slow",
    "tolaria.validation_loss",
});

// Where the process gets a signal: SIGTERM at PHASE.term, SIGINT at .int, SIGHUP at .hup, SIGKILL at .kill.
inline constexpr std::array kSignalPoints = std::to_array<std::string_view>(
    {"tolaria.loading", "tolaria.creating", "tolaria.starting", "tolaria.training", "tolaria.compiling",
     "tolaria.validating", "tolaria.deciding", "tolaria.saving", "tolaria.returning", "tolaria.ending"});

inline std::vector<std::string> fault_point_names() {
  std::vector<std::string> names(kFaultPoints.begin(), kFaultPoints.end());
  for (const auto phase : kSignalPoints) {
    for (const char* signal : {".term", ".int", ".hup", ".kill"}) names.push_back(std::string(phase) + signal);
  }
  return names;
}

}  // namespace esper::drill
