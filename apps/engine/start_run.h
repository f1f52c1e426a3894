#pragma once
// Starts a run: from its beginning, from its newest checkpoint, or, where it goes back, from an earlier one in the same
// process. Training thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ledger/ledger.h"
#include "engine/commands.h"
#include "engine/composition.h"
#include "engine/open_run.h"
#include "tolaria/state/run_outcome.h"

namespace esper::engine {

// Before the first step of a new run.
void begin_with_weights(TrainingSetup& setup);

// Finds where the run stands and puts it together. A run that is resumed gets its newest checkpoint that will do, in
// the setup and in the policy. Throws as find_resume_point(), and Error{kConfig} for a fork without seeds that has no
// epoch left to train.
std::unique_ptr<Composition> compose(const TrainRequest& request, TrainingSetup& setup, const OpenRun& open,
                                     Policy policy);

// What a run that goes back takes with it, each time.
struct RestartState {
  std::vector<tolaria::ReactionRecord> reactions;  // of this process, in order
  std::int64_t newest_step = 0;
  tolaria::RestartReport from;
  base::Ledger ledger;
};

// The run goes on from an earlier checkpoint: everything is built again, as in a process that resumes it.
std::unique_ptr<Composition> restart_run(const TrainRequest& request, TrainingSetup& setup, const OpenRun& open,
                                         std::unique_ptr<Composition> composition, const tolaria::RunOutcome& outcome,
                                         RestartState& restart);

}  // namespace esper::engine
