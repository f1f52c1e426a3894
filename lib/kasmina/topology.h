#pragma once
// A slot as JSON, doubles exact: everything but the values of its tensors. Training thread.

#include <nlohmann/json_fwd.hpp>

#include "kasmina/slot.h"

namespace esper::kasmina {

nlohmann::json slot_to_json(const Slot& slot);

// What make_seed() needs besides, and the seed that sits at the slot now: it is kept, with its tensors, if it is the
// saved one.
struct SlotSource {
  const SlotSite& site;
  const std::optional<Seed>& present;
  const leyline::GrowthConfig& growth;
  std::uint64_t run_seed;
  torch::Device device;
};
// Throws Error{kCheckpoint}, naming the slot and what does not fit.
Slot slot_from_json(const nlohmann::json& saved, const SlotSource& source);

}  // namespace esper::kasmina
