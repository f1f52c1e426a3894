#pragma once
// What a run is forecast to take. Plain data. Any thread.

#include <cstdint>
#include <string>
#include <tuple>

#include "base/text/json_struct.h"

namespace esper::config {

// One figure. 0: unknown, or nothing at all; `parts` says which.
struct Estimate {
  std::int64_t bytes = 0;
  std::string parts{};  // "1.2 GiB: parameters and optimizer 0.6, activations 0.3, data 0.1, process 0.2"
  bool operator==(const Estimate&) const = default;
};
constexpr auto json_members(const Estimate*) {
  return std::tuple{base::json_member("bytes", &Estimate::bytes), base::json_member("parts", &Estimate::parts)};
}

struct RunForecast {
  Estimate memory{};         // the most that the run's processes have resident at once
  Estimate device_memory{};  // on one GPU; none where the run is on the CPU
  Estimate checkpoint{};     // one checkpoint
  Estimate disk{};           // the run folder: its checkpoints as they are kept, one being written, telemetry
  std::int64_t parameters = 0, grown_parameters = 0;  // of the host; what growth can add at most. 0: unknown, or none
  bool operator==(const RunForecast&) const = default;
};
constexpr auto json_members(const RunForecast*) {
  using base::json_member;
  using F = RunForecast;
  return std::tuple{json_member("memory", &F::memory),         json_member("device_memory", &F::device_memory),
                    json_member("checkpoint", &F::checkpoint), json_member("disk", &F::disk),
                    json_member("parameters", &F::parameters), json_member("grown_parameters", &F::grown_parameters)};
}

// "6.1 GiB", "740 MiB", "12 KiB"; for people.
std::string bytes_text(std::int64_t bytes);

}  // namespace esper::config
