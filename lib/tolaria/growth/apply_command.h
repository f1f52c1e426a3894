#pragma once
// Applies one command of the policy to the network and the optimizer, atomically. Training thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "leyline/command.h"
#include "step/model.h"

namespace esper::tolaria {

struct AppliedCommand {
  std::vector<kasmina::LifecycleEvent> events;
  step::StructureChange change;
  bool structure_changed = false;
};

// As kasmina::Network::apply(). If a fossil is folded into the host, or a widening becomes part of it, averages and
// moments follow (tolaria/growth/fold_state.h). If memory is too short for what the new structure
// takes (graft_room.h), or the optimizer runs out of it, the change is rolled back and the command is rejected as
// out_of_memory; as out_of_space if its checkpoints would not fit on the disk. disk_room: bytes for checkpoints;
// empty: not known.
AppliedCommand apply_command(step::Model& model, const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                             std::uint64_t now_ns, std::optional<std::uint64_t> disk_room = {});

}  // namespace esper::tolaria
