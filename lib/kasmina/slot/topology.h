#pragma once
// Operations on a saved topology: list its seeds, remove or add one. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/growth_config.h"
#include "leyline/topology.h"

namespace esper::kasmina {

// The seeds and slots in the output of Network::save_topology(), without measurements. Throws Error{kCheckpoint}.
leyline::Topology topology_of(const nlohmann::json& saved);

// The topology without that seed, whatever its stage: its slot is as at the start of a run with that configuration, its
// number is not reused. Throws Error{kConfig} that names the existing seeds.
nlohmann::json without_seed(nlohmann::json saved, const std::string& seed_id, const config::GrowthConfig& growth);

// The topology with a new seed at that slot, whatever the slot held. Throws Error{kConfig} if there is no such slot.
nlohmann::json with_seed(nlohmann::json saved, const std::string& slot, const std::string& blueprint,
                         const config::GrowthConfig& growth);

// The topology with that seed in that stage of a seed. Throws Error{kConfig} if there is no such seed.
nlohmann::json with_stage(nlohmann::json saved, const std::string& seed_id, leyline::Stage stage);

}  // namespace esper::kasmina
