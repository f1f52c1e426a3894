#pragma once
// All that the heuristic remembers between two epochs besides its seeds (care_state.h), as plain data, and as JSON that
// restores it exactly.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace esper::tamiyo {

struct HeuristicState {
  std::optional<double> progress_accuracy;  // 0..1, where the last progress was seen
  std::uint32_t epochs_without_progress = 0;
  std::optional<double> best_loss;         // mean of a window
  std::vector<double> losses, accuracies;  // validation, of the last epochs, oldest first
  std::uint32_t calm_epochs = 0;           // in a row, with little relative improvement over the best loss before
  bool host_stable = false;                // once true it stays
  std::optional<std::uint32_t> last_prune_epoch;
  std::uint32_t germinations = 0;
  std::map<std::string, double> penalties;      // by blueprint
  std::map<std::string, std::uint32_t> prunes;  // by slot
  bool operator==(const HeuristicState&) const = default;
};

nlohmann::json heuristic_json(const HeuristicState& state);
// Throws nlohmann::json::exception for what is no such state.
HeuristicState read_heuristic(const nlohmann::json& saved);
// Takes the figures of the network so far out of a saved state; nothing where it is not a heuristic's. Throws as
// read_heuristic().
void forget_network(nlohmann::json& saved);

}  // namespace esper::tamiyo
