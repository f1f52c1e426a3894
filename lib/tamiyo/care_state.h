#pragma once
// What every policy remembers of the seeds that it grows between two epochs, as plain data, and as JSON text that
// restores it exactly. A policy's saved state is one JSON object: these fields, and the policy's own beside them.

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

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
  bool is_culled = false;  // its CULL was commanded, and it counts as lost; it stays where that was held back
  bool operator==(const SeedWatch&) const = default;
};

struct Germination {
  std::string slot, blueprint;
  bool operator==(const Germination&) const = default;
};

struct CareState {
  std::uint32_t last_epoch = 0;            // of the last usable observation
  std::vector<Germination> asked;          // in the last decision
  std::map<std::string, SeedWatch> seeds;  // growing ones, by id
  bool operator==(const CareState&) const = default;
};

nlohmann::json care_json(const CareState& state);
// Throws nlohmann::json::exception for what is no such state.
CareState read_care(const nlohmann::json& saved);

// Hands a policy's saved state to `read`. Throws Error{kCheckpoint} when the text is not such a state; `read` may throw
// nlohmann::json::exception.
void read_saved_state(const std::string& text, const std::function<void(const nlohmann::json& saved)>& read);

// A policy's saved state without the seed, and those of its shadows that lie in it: one that was removed without a
// command would be reported as lost. That of a user's program stays as it is. What was about the network with the seed
// is dropped: an open question, and the losses and accuracies that the heuristic and the service compare the next ones
// with. Throws as read_saved_state().
std::string forget_seed(const std::string& text, const std::string& seed_id, const std::string& slot);

}  // namespace esper::tamiyo
