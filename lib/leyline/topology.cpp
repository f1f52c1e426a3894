#include "leyline/topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/hash.h"
#include "base/names.h"
#include "base/text/json_fields.h"
#include "leyline/seed_id.h"

namespace esper::leyline {

using base::fnv1a;
using base::from_name;
using base::hash_text;
using base::name_of;

using nlohmann::json;

namespace {

std::string stage_name(Stage stage) { return std::string(name_of(stage)); }

SlotTopology& slot_of(Topology& topology, const std::string& id) {
  const auto found = std::ranges::find(topology.slots, id, &SlotTopology::id);
  if (found != topology.slots.end()) return *found;
  return topology.slots.emplace_back(SlotTopology{id, Stage::kDormant, {}, {}});
}

const SlotTopology* find_slot(const Topology& topology, const std::string& id) {
  const auto found = std::ranges::find(topology.slots, id, &SlotTopology::id);
  return found == topology.slots.end() ? nullptr : &*found;
}

std::string misfit(const SlotTopology& slot, const StageChange& change) {
  if (slot.stage != change.from) return slot.id + " is " + describe(slot) + ", not " + stage_name(change.from);
  if (has_module(change.from) && slot.seed_id != change.seed_id) {
    return slot.id + " holds " + slot.seed_id + ", not " + change.seed_id;
  }
  return {};
}

}  // namespace

std::string apply(Topology& topology, const StageChange& change) {
  SlotTopology& slot = slot_of(topology, change.slot);
  const std::string why = misfit(slot, change);
  const bool birth = has_module(change.to) && slot.seed_id != change.seed_id;
  slot.stage = change.to;
  slot.seed_id = has_module(change.to) ? change.seed_id : "";
  slot.blueprint = has_module(change.to) ? change.blueprint : "";
  slot.folded = slot.folded && !birth && change.to == Stage::kFossilized;
  if (birth) topology.seeds_born = std::max(topology.seeds_born, number_of_seed(change.seed_id));
  return why;
}

std::string apply_fold(Topology& topology, const std::string& slot_id, const std::string& seed_id) {
  const auto slot = std::ranges::find(topology.slots, slot_id, &SlotTopology::id);
  if (slot == topology.slots.end()) return "there is no slot " + slot_id;
  const bool is_there = slot->stage == Stage::kFossilized && slot->seed_id == seed_id && !slot->folded;
  const std::string why = is_there ? "" : slot_id + " is " + describe(*slot) + ", not the fossil " + seed_id;
  slot->folded = true;
  return why;
}

json topology_json(const Topology& topology) {
  json slots = json::array();
  for (const auto& slot : topology.slots) {
    slots.push_back(
        {{"id", slot.id}, {"stage", name_of(slot.stage)}, {"seed", slot.seed_id}, {"blueprint", slot.blueprint}});
    if (slot.folded) slots.back()["folded"] = true;  // left out else: journals hold hashes of this form
  }
  return {{"seeds_born", topology.seeds_born}, {"slots", std::move(slots)}};
}

Topology read_topology(const json& saved) {
  Topology topology;
  topology.seeds_born = base::whole_at<std::uint32_t>(saved, "seeds_born");
  for (const auto& slot : saved.at("slots")) {
    const auto name = slot.at("stage").get<std::string>();
    const auto stage = from_name<Stage>(name);
    if (!stage) throw std::invalid_argument("there is no stage " + name);
    topology.slots.push_back({slot.at("id").get<std::string>(), *stage, slot.at("seed").get<std::string>(),
                              slot.at("blueprint").get<std::string>(), slot.value("folded", false)});
  }
  return topology;
}

std::string topology_hash(const Topology& topology) {
  return hash_text(fnv1a(topology_json(topology).dump(-1, ' ', false, json::error_handler_t::replace)));
}

std::string describe(const SlotTopology& slot) {
  return stage_name(slot.stage) + (slot.seed_id.empty() ? "" : " " + slot.seed_id + " " + slot.blueprint) +
         (slot.folded ? ", folded" : "");
}

std::vector<std::string> differences(const Topology& a, const Topology& b) {
  std::vector<std::string> found;
  for (const auto& slot : a.slots) {
    const auto* other = find_slot(b, slot.id);
    if (!other) {
      found.push_back(slot.id + ": " + describe(slot) + " -> no such slot");
    } else if (*other != slot) {
      found.push_back(slot.id + ": " + describe(slot) + " -> " + describe(*other));
    }
  }
  for (const auto& slot : b.slots) {
    if (!find_slot(a, slot.id)) found.push_back(slot.id + ": no such slot -> " + describe(slot));
  }
  if (a.seeds_born != b.seeds_born) {
    found.push_back(fmt::format("seeds born: {} -> {}", a.seeds_born, b.seeds_born));
  }
  return found;
}

}  // namespace esper::leyline
