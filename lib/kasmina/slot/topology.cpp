#include "kasmina/slot/topology.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/joined.h"
#include "base/text/json_fields.h"
#include "kasmina/slot/slot_json.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::kasmina {

using leyline::Stage;
using nlohmann::json;

leyline::Topology topology_of(const json& saved) {
  leyline::Topology topology;
  try {
    topology.seeds_born = base::whole_at<std::uint32_t>(saved, "seeds_born");
    for (const auto& slot : saved.at("slots")) {
      const auto id = slot.at("id").get<std::string>();
      leyline::SlotTopology place{id, stage_from_json(slot.at("stage"), id), {}, {}};
      if (const auto& seed = slot.at("seed"); !seed.is_null()) {
        place.seed_id = seed_name(base::whole_at<std::uint32_t>(seed, "number"));
        place.blueprint = seed.at("blueprint").get<std::string>();
        place.folded = seed.value("folded", false);
      }
      topology.slots.push_back(std::move(place));
    }
  } catch (const json::exception& error) {
    fail_saved_topology("its JSON", base::plain_reason(error));
  }
  return topology;
}

namespace {

json& place_of(json& saved, const std::string& seed_id) {
  const auto topology = topology_of(saved);
  std::vector<std::string> known;
  for (std::size_t i = 0; i < topology.slots.size(); ++i) {
    const auto& slot = topology.slots[i];
    if (slot.seed_id.empty()) continue;
    if (slot.seed_id == seed_id) return saved.at("slots").at(i);
    known.push_back(slot.seed_id);
  }
  throw base::Error(base::ExitCode::kConfig, fmt::format("there is no seed \"{}\" at this step; there {}", seed_id,
                                                         known.empty() ? "are none" : "are: " + base::joined(known)));
}

}  // namespace

json without_seed(json saved, const std::string& seed_id, const config::GrowthConfig& growth) {
  auto& place = place_of(saved, seed_id);
  if (place.at("seed").value("folded", false)) {
    throw base::Error(base::ExitCode::kConfig,
                      seed_id + " was folded into the host and cannot be removed; choose a step before it fossilised");
  }
  const bool is_fossil = stage_from_json(place.at("stage"), place.at("id")) == Stage::kFossilized;
  if (is_fossil && leyline::is_widening(place.at("seed").at("blueprint").get<std::string>())) {
    throw base::Error(base::ExitCode::kConfig,
                      seed_id +
                          " widens the host, whose weights were split when it fossilised, and cannot be removed; "
                          "choose a step before that");
  }
  place["stage"] = static_cast<int>(first_stage(place.at("id").get<std::string>(), growth));
  place["stage_epochs"] = 0;
  place["seed"] = nullptr;
  return saved;
}

json with_stage(json saved, const std::string& seed_id, Stage stage) {
  auto& place = place_of(saved, seed_id);
  if (stage == Stage::kFossilized) place.at("seed")["alpha"] = full_alpha_to_json();
  place["stage"] = static_cast<int>(stage);
  place["stage_epochs"] = 0;
  return saved;
}

json with_seed(json saved, const std::string& slot, const std::string& blueprint, const config::GrowthConfig& growth) {
  for (auto& place : saved.at("slots")) {
    if (place.at("id") != slot) continue;
    const auto number = base::whole_at<std::uint32_t>(saved, "seeds_born") + 1;
    saved["seeds_born"] = number;
    place["stage"] = static_cast<int>(Stage::kGerminated);
    place["stage_epochs"] = 0;
    place["seed"] = new_seed_to_json(number, blueprint, growth);
    return saved;
  }
  throw base::Error(base::ExitCode::kConfig, "there is no slot \"" + slot + "\"");
}

}  // namespace esper::kasmina
