#pragma once
// What was measured of whole runs. Plain data.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace esper::engine::bench {

struct LoopFigures {
  std::vector<double> epoch_ms;  // from the end of an epoch's last step to the end of the next one's
  std::vector<double> step_us;   // of every step, in order
  std::vector<double> pause_ms;  // from the end of an epoch's last step to the begin of the next one's first
  std::int64_t steps_per_epoch = 0;
  std::vector<nlohmann::json> packets;  // Tolaria's, one for each epoch, in order
  std::vector<nlohmann::json> events;   // of all packets
};

}  // namespace esper::engine::bench
