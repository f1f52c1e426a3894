#pragma once
// All that the heuristic remembers between two epochs, as plain data, and as JSON text that restores it exactly.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "leyline/seed.h"

namespace esper::tamiyo {

// One growing seed in its present stage.
struct SeedWatch {
  std::string slot, blueprint;
  leyline::Stage stage = leyline::Stage::kUnknown;
  std::optional<double> best_points;  // best value so far of what the stage is judged by
  std::uint32_t stale_epochs = 0;     // epochs without a new best
  std::uint32_t refusals = 0;         // commands to change stage without effect an epoch later
  std::uint32_t next_ask_epoch = 0;   // grows 1, 2, 4, ... epochs with each refusal
  bool operator==(const SeedWatch&) const = default;
};

struct Germination {
  std::string slot, blueprint;
  bool operator==(const Germination&) const = default;
};

struct HeuristicState {
  std::uint32_t last_epoch = 0;
  std::optional<double> progress_accuracy;  // 0..1, where the last progress was seen
  std::uint32_t epochs_without_progress = 0;
  std::optional<double> best_loss;
  std::uint32_t calm_epochs = 0;  // in a row, with little relative improvement over the best loss before
  bool host_stable = false;       // once true it stays
  std::optional<std::uint32_t> last_prune_epoch;
  std::uint32_t germinations = 0;
  std::optional<Germination> asked_germination;  // in the last decision
  std::map<std::string, double> penalties;       // by blueprint
  std::map<std::string, std::uint32_t> prunes;   // by slot
  std::map<std::string, SeedWatch> seeds;        // growing ones, by id
  bool operator==(const HeuristicState&) const = default;
};

std::string to_json(const HeuristicState& state);
// Throws Error{kCheckpoint} when the text is not such a state.
HeuristicState state_from_json(const std::string& text);

// Forgets the seed: one that was removed without a command would count as a prune.
void forget_seed(HeuristicState& state, const std::string& seed_id, const std::string& slot);

}  // namespace esper::tamiyo
