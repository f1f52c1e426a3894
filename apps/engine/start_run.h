#pragma once
// Starts a run: from its beginning, from its newest checkpoint, or, where it goes back, from an earlier one in the same
// process. Training thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/interrupt.h"
#include "base/ledger/ledger.h"
#include "engine/commands.h"
#include "engine/composition.h"
#include "tolaria/run/run_folder.h"
#include "tolaria/state/run_outcome.h"

namespace esper::engine {

// A run folder, and the file system that may touch nothing but it.
struct OpenRun {
  base::FileSystem& files;
  tolaria::RunFolder folder;
};

// Throws as open_run_folder().
OpenRun open_run(const std::string& path);
// Throws as create_run_folder(). From here on a signal is a request, which waits until the folder is whole: see
// end_if_interrupted().
OpenRun create_run(const std::string& path, const config::RunConfig& config, base::Interrupt& interrupt);

// Where a signal came since this run folder was begun: throws Error with its exit code; the text says how to train the
// run.
void end_if_interrupted(const std::string& path);

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

// The run goes on from an earlier checkpoint: everything is composed anew, as in a process that resumes it.
std::unique_ptr<Composition> restart_run(const TrainRequest& request, TrainingSetup& setup, const OpenRun& open,
                                         std::unique_ptr<Composition> composition, const tolaria::RunOutcome& outcome,
                                         RestartState& restart);

}  // namespace esper::engine
