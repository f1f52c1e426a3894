#pragma once
// A slot as JSON, doubles exact: everything but the values of its tensors; and what others need of a saved topology.
// Training thread.

#include <nlohmann/json_fwd.hpp>

#include "kasmina/slot.h"
#include "leyline/topology.h"

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

// Of what Network::save_topology() gave: which seed sits where, without what was measured. Throws Error{kCheckpoint}.
leyline::Topology topology_of(const nlohmann::json& saved);

// The same with that seed left out, whatever its stage: its slot is as it is when a run begins with that configuration,
// its number is not given again. Throws Error{kConfig} that names the seeds there are.
nlohmann::json without_seed(nlohmann::json saved, const std::string& seed_id, const leyline::GrowthConfig& growth);

// The same with a newborn at that slot, whatever the slot was. Throws Error{kConfig} where there is no such slot.
nlohmann::json with_seed(nlohmann::json saved, const std::string& slot, const std::string& blueprint,
                         const leyline::GrowthConfig& growth);

// The same with that seed FOSSILIZED. Throws Error{kConfig} where there is no such seed.
nlohmann::json with_fossil(nlohmann::json saved, const std::string& seed_id);

}  // namespace esper::kasmina
