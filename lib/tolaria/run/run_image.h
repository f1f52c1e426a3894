#pragma once
// A run's state as a checkpoint has it. Training thread.

#include <functional>
#include <vector>

#include "step/model.h"
#include "tamiyo/service/run_policy.h"
#include "tolaria/checkpoint/checkpoint.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

// What a checkpoint copies.
struct SaveSource {
  const RunFacts& facts;
  const step::Model& model;
  const RunProgress& progress;
  const tamiyo::RunPolicy& policy;
  // The averaged model's batch norm statistics, of the model as it is now; empty where there are none, or a signal
  // came. May be null: none.
  std::function<std::vector<kasmina::NamedTensor>()> averaged_statistics = {};
};

// Names the state that the source has now.
CheckpointInfo state_of(const SaveSource& source);

// A copy of it, but for what only a use of the network needs: a state that is held for an interrupt alone is not worth
// computing it.
CheckpointImage image_of(const SaveSource& source);
// A copy of all of it.
CheckpointImage image_for_use(const SaveSource& source);

}  // namespace esper::tolaria
