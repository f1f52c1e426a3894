#pragma once
// A slot as JSON, doubles exact: everything but the values of its tensors. Training thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "kasmina/slot/slot.h"

namespace esper::kasmina {

nlohmann::json slot_to_json(const Slot& slot);

// The other inputs of make_seed(), and the seed that is in the slot now: it is kept, with its tensors, if it is the
// saved one.
struct SlotSource {
  const SlotSite& site;
  const std::optional<Seed>& present;
  const config::GrowthConfig& growth;
  std::uint64_t run_seed;
  torch::Device device;
};
// Throws Error{kCheckpoint}, naming the slot and what does not fit.
Slot slot_from_json(const nlohmann::json& saved, const SlotSource& source);

// The "seed" of a slot with a newly germinated one, with the configured blend.
nlohmann::json new_seed_to_json(std::uint32_t number, const std::string& blueprint, const config::GrowthConfig& growth);

// The "alpha" of a seed that is in the network in full.
nlohmann::json full_alpha_to_json();

// Parts of it that other files read. Throw as above; json::exception if a field has another type.
leyline::Stage stage_from_json(const nlohmann::json& saved, const std::string& slot);
nlohmann::json optional_number(std::optional<double> value);
[[noreturn]] void fail_saved_topology(const std::string& where, const std::string& what);

}  // namespace esper::kasmina
