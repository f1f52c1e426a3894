#pragma once
// What others need of a saved topology: who sits where, and the same with one seed more or less. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/growth_config.h"
#include "leyline/topology.h"

namespace esper::kasmina {

// Of what Network::save_topology() gave: which seed sits where, without what was measured. Throws Error{kCheckpoint}.
leyline::Topology topology_of(const nlohmann::json& saved);

// The same with that seed left out, whatever its stage: its slot is as it is when a run begins with that configuration,
// its number is not given again. Throws Error{kConfig} that names the seeds there are.
nlohmann::json without_seed(nlohmann::json saved, const std::string& seed_id, const config::GrowthConfig& growth);

// The same with a newborn at that slot, whatever the slot was. Throws Error{kConfig} where there is no such slot.
nlohmann::json with_seed(nlohmann::json saved, const std::string& slot, const std::string& blueprint,
                         const config::GrowthConfig& growth);

// The same with that seed FOSSILIZED. Throws Error{kConfig} where there is no such seed.
nlohmann::json with_fossil(nlohmann::json saved, const std::string& seed_id);

}  // namespace esper::kasmina
