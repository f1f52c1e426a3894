#pragma once
// Folds a linear fossil into the host's layer after its slot: the change of the network (kasmina/fold/fold.h is the
// algebra). Training thread.

#include <torch/types.h>

#include <optional>
#include <string>
#include <vector>

#include "kasmina/fold/fold.h"
#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"

namespace esper::kasmina {

// How a seed would be folded into the host's next layer, from the present values of all parameters; empty if
// growth.fold_fossils is off or it cannot be folded.
struct FoldPlan {
  std::string layer;  // its parameters are "<layer>.weight" and, if it has one, "<layer>.bias"
  SlotMap map;
};
std::optional<FoldPlan> fold_plan(const NetworkState& network, const std::string& seed_id);
// The values that layer would hold, by id; empty if there is no such plan.
std::vector<NamedTensor> folded_layer(const NetworkState& network, const std::string& seed_id);

// A fold, computed and measured; event.passed says whether it is to be done.
struct Fold {
  TensorValues before, after;  // of the host's parameters
  LifecycleEvent event;
};
// Empty for a seed that is not linear by itself. Changes nothing.
std::optional<Fold> try_fold(const NetworkState& network, const Slot& slot, const torch::Tensor& probe);
// Does it if it passed, and completes the event. overwritten: receives the host's values that it overwrites, in room
// that the caller reserved. Allocates no tensor: the command can no longer be rejected.
LifecycleEvent apply_fold(NetworkState& network, const Fold& fold, Slot& slot, const std::string& command_id,
                          TensorValues& overwritten);

}  // namespace esper::kasmina
