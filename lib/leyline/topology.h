#pragma once
// Which seed occupies which slot, and in which stage: can be rebuilt from a run's journal after every event. Plain data
// without measurements or tensors. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "leyline/seed.h"

namespace esper::leyline {

// GERMINATED to FOSSILIZED: there is a module in the slot.
constexpr bool has_module(Stage stage) { return stage >= Stage::kGerminated && stage <= Stage::kFossilized; }

struct SlotTopology {
  std::string id;  // "r0c1"
  Stage stage = Stage::kDormant;
  std::string seed_id, blueprint;  // empty where the stage has no module
  bool folded = false;  // FOSSILIZED only: the module is part of the host's next layer, nothing is left of it
  bool operator==(const SlotTopology&) const = default;
};

struct Topology {
  std::vector<SlotTopology> slots;  // in the host's order
  std::uint32_t seeds_born = 0;     // since the run began, removed ones included
  bool operator==(const Topology&) const = default;
};

// A slot's move from one stage to another; `seed_id` and `blueprint` say whose, where `from` or `to` has a module.
struct StageChange {
  std::string slot, seed_id, blueprint;
  Stage from = Stage::kUnknown, to = Stage::kUnknown;
};

// Moves the slot, whatever it was before; one that is not known yet is added. Returns why the change does not follow
// from the topology as it was ("r0c1 is DORMANT, not TRAINING"); empty if it does.
std::string apply(Topology& topology, const StageChange& change);

// A fossil was worked into the host. As apply(): the slot is folded in any case, unless it is unknown.
std::string apply_fold(Topology& topology, const std::string& slot, const std::string& seed_id);

// {"seeds_born": 1, "slots": [{"id", "stage" (by name), "seed", "blueprint", "folded": true where it is}]}
nlohmann::json topology_json(const Topology& topology);
// Throws nlohmann::json::exception, or std::invalid_argument for a stage that is none.
Topology read_topology(const nlohmann::json& saved);

// FNV-1a (64 bit) of topology_json() as text without blanks, 16 hexadecimal digits.
std::string topology_hash(const Topology& topology);

// "TRAINING seed-0001 conv_light", "FOSSILIZED seed-0002 lora, folded", "DORMANT"
std::string describe(const SlotTopology& slot);

// How `b` differs from `a`, slot by slot: "r0c1: TRAINING seed-0001 conv_light -> DORMANT".
std::vector<std::string> differences(const Topology& a, const Topology& b);

}  // namespace esper::leyline
