#pragma once
// One scenario measured: every lane, the loop by hand and, where asked for, Python, in turns.

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/memory_figures.h"
#include "engine/bench/counts.h"
#include "engine/bench/peers.h"
#include "engine/bench/rounds.h"
#include "engine/bench/trainee.h"

namespace esper::engine::bench {

// The first lane once more: how far apart two rows of the same thing seem.
inline constexpr const char* kSameAgain = "same_again";

struct Refused {
  std::string name, reason;
};

struct Measurement {
  std::vector<Row> rows;                  // lanes in the order asked for, then "hand", then peers, last kSameAgain
  std::vector<std::string> lanes, peers;  // names in `rows`
  std::map<std::string, std::string> optimizers;  // of peers
  std::vector<Refused> refused;
  std::map<std::string, double> disagreement;          // of each lane with the first, see Agreement::difference
  std::map<std::string, StepCounts> counts;            // by lane
  nlohmann::json settings, peer_settings;              // compute_settings(); the latter null: no peer ran
  std::optional<device::MemoryFigures> device_memory;  // after all rows, which share the allocator; empty on the CPU

  const Row* find(const std::string& name) const;
};

// Another training whose lanes take turns with those of the first, as rows "eager@NAME".
struct Against {
  std::string name;
  const Workload* workload = nullptr;  // null: none
};

struct MeasurePlan {
  std::vector<config::Lane> lanes;
  Against against = {};
  bool peers = false;
  std::string peer_model = {};  // as Comparison::peer_model
  bool times = true;            // false: counts only
  Plan turns;
  std::function<void(const std::string&)> phase;  // receives what is being done; may be empty
};

// Checks each row's answer before it is timed; one that trains something else is refused with how far off it is.
Measurement measure(const Workload& workload, const Scratch& scratch, const MeasurePlan& plan);

}  // namespace esper::engine::bench
