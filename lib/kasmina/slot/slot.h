#pragma once
// A place in the host where a module may grow. Training thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kasmina/host/host.h"
#include "kasmina/seed/lifecycle.h"
#include "kasmina/seed/seed.h"
#include "kasmina/slot/gates.h"

namespace esper::kasmina {

// The stage is the slot's, and the seed's while there is one: seed.has_value() == holds_seed(stage), always.
struct Slot {
  SlotSite site;
  leyline::Stage stage = leyline::Stage::kUnknown;
  std::uint32_t stage_epochs = 0;  // real epochs in this stage
  std::optional<Seed> seed;
};

// The run file's settings for seeds of one slot, names resolved.
struct SlotRules {
  AlphaSchedule schedule;                 // unless a command overrides it
  std::vector<const Blueprint*> allowed;  // blueprints that fit there and that the run includes, in the table's order
};
SlotRules rules_at(const SlotSite& site, const config::GrowthConfig& growth);

// Moves the slot and restarts its epoch count; a move that is not in the table is a bug, callers use check_move().
// `accuracy`: the running accuracy at the move, the baseline of the seed's improvement in the new stage.
void move_slot(Slot& slot, leyline::Stage to, std::optional<double> accuracy);

// The stage of that slot, without a seed, when a run begins: DORMANT, or TERMINATED if nothing may grow.
leyline::Stage first_stage(const std::string& slot_id, const config::GrowthConfig& growth);

// The inputs of the gates G2 to G5. The slot must hold a seed.
EpochEvidence evidence_of(const Slot& slot);

// Slots that hold a seed.
std::vector<const Slot*> in_creation_order(const std::vector<Slot>& slots);
// Null if no slot holds it.
Slot* find_seed(std::vector<Slot>& slots, const std::string& seed_id);
const Slot* find_seed(const std::vector<Slot>& slots, const std::string& seed_id);
// Null if there is no such slot, or it holds no seed.
Slot* find_holder(std::vector<Slot>& slots, const std::string& slot_id);

// Sets the seed's scalars from its stage and alpha. The slot must hold a seed.
void refresh_scalars(const Slot& slot, const config::GrowthConfig& growth);

// True while the slot's seed trains in the shadow of the network: see Network::shadow().
bool trains_in_shadow(const Slot& slot);

// What leaves the slot in a forward: the feature, changed by the slot's seed if it takes part.
SlotOutput output_of(const Slot& slot, const BlockOutput& from, Mode mode);

// True for a seed that is being removed: blending down, or down already.
bool is_leaving(const Slot& slot);

}  // namespace esper::kasmina
