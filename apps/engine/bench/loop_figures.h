#pragma once
// What was measured of whole runs. Plain data.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace esper::engine::bench {

// A metric of a packet that has a number and no labels.
inline bool is_plain_number(const nlohmann::json& metric) {
  return metric.at("value").is_number() && metric.at("attributes").empty();
}

struct LoopFigures {
  std::vector<double> epoch_ms;  // from the end of an epoch's last step to the end of the next one's
  std::vector<double> step_us;   // of every step, in order
  std::vector<double> pause_ms;  // from the end of an epoch's last step to the begin of the next one's first
  std::int64_t steps_per_epoch = 0;
  std::vector<nlohmann::json> packets;  // Tolaria's, one for each epoch, in order
  std::map<std::string, double> last;   // value of each of Tolaria's metrics without labels
  std::vector<nlohmann::json> events;   // of all packets
};

}  // namespace esper::engine::bench
