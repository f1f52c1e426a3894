#pragma once
// One command of the policy, carried out by the network and followed by the optimizer: whole, or not at all.
// Training thread.

#include <cstdint>
#include <vector>

#include "leyline/command.h"
#include "step/model.h"

namespace esper::tolaria {

struct AppliedCommand {
  std::vector<kasmina::LifecycleEvent> events;
  step::StructureChange change;
  bool structure_changed = false;
};

// As kasmina::Network::apply(). Where a fossil is folded into the host, its average and the layer's moments
// are as well (tolaria/growth/fold_state.h). Where there is no memory for what the optimizer keeps of a new structure,
// the change is rolled back and the command is refused as out_of_memory.
AppliedCommand apply_command(step::Model& model, const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                             std::uint64_t now_ns);

}  // namespace esper::tolaria
