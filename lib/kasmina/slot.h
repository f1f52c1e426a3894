#pragma once
// A place in the host where a module may grow. Training thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kasmina/gates.h"
#include "kasmina/host.h"
#include "kasmina/lifecycle.h"
#include "kasmina/seed.h"

namespace esper::kasmina {

// The stage is the slot's, and the seed's while there is one: seed.has_value() == holds_seed(stage), always.
struct Slot {
  SlotSite site;
  leyline::Stage stage = leyline::Stage::kUnknown;
  std::uint32_t stage_epochs = 0;  // real epochs since it entered the stage
  std::optional<Seed> seed;
};

// What the run file says of the seeds of one slot, names resolved.
struct SlotRules {
  AlphaSchedule schedule;                 // unless a command says otherwise
  std::vector<const Blueprint*> allowed;  // that fit there and that the run asks for, in the table's order
};
SlotRules rules_at(const SlotSite& site, const config::GrowthConfig& growth);

// Moves the slot and starts its epoch count; a move that the table refuses is a bug here, callers ask check_move().
// `accuracy`: the running accuracy at the move, from which the seed's improvement in the new stage is counted.
void move_slot(Slot& slot, leyline::Stage to, std::optional<double> accuracy);

// The stage of that slot, without a seed, when a run begins: DORMANT, or TERMINATED where nothing may grow.
leyline::Stage first_stage(const std::string& slot_id, const config::GrowthConfig& growth);

// What the gates G2 to G5 judge. The slot must hold a seed.
EpochEvidence evidence_of(const Slot& slot);

// Slots that hold a seed.
std::vector<const Slot*> in_creation_order(const std::vector<Slot>& slots);
// Null if no slot holds it.
Slot* find_seed(std::vector<Slot>& slots, const std::string& seed_id);
const Slot* find_seed(const std::vector<Slot>& slots, const std::string& seed_id);

// The seed's scalars follow its stage and its alpha. The slot must hold a seed.
void refresh_scalars(const Slot& slot, const config::GrowthConfig& growth);

// A seed on its way out: blending down, or down already.
bool is_leaving(const Slot& slot);

}  // namespace esper::kasmina
