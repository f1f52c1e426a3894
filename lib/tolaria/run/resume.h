#pragma once
// The resume point of a run: its newest checkpoint that is intact and its own. Training thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/run_config.h"
#include "history/growth/run_history.h"
#include "lanes/structure/scratch_model.h"
#include "tamiyo/service/run_policy.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/state/run_progress.h"
#include "tolaria/state/training_identity.h"

namespace esper::tolaria {

struct ResumePoint {
  std::unique_ptr<step::Model> model;  // null: from the beginning
  RunProgress progress;
  std::string checkpoint;                  // path; empty: from the beginning
  std::string preprocessing;               // its data::Preprocessing as text; empty where it has none
  std::string computed_on;                 // its device::numerics_of(); empty where it has none
  std::vector<RefusedCheckpoint> refused;  // newer ones that were rejected
  std::string unchecked;  // why its network could not be compared with the journal (a warning), or empty
};

// The properties that a checkpoint must match.
struct ResumeTarget {
  const config::RunConfig& config;
  const TrainingIdentity& identity;
  torch::Device device;
  std::int64_t batches_per_epoch = 0;  // microbatches
  lanes::ModelFactory build;           // of the configuration, as at a run's start
  history::SettingChanges changes;     // that the run accepted
  // A run that goes back in the same process: its reactions so far, and the newest step that will do.
  std::vector<ReactionRecord> reactions = {};
  std::optional<std::int64_t> newest_step = {};
};

// Training from step 0 in the folder of a run with progress would replace that run. run: the folder of one without a
// checkpoint. Throws Error{kCheckpoint} where it had some, and did not go back to before all of them, or is a fork.
void require_beginning(base::FileSystem& files, const std::string& run);

// Without any checkpoint the run starts from the beginning, also where it went back to before each that it had. If
// there are or were others and none is usable, or the journal and the checkpoint describe different networks, throws
// Error{kCheckpoint} with the reasons. Restores the policy's state, and adds the reactions to failures that the run had
// after the checkpoint, by its journal, to the progress. run: the run folder, whose lock is held.
ResumePoint find_resume_point(base::FileSystem& files, const std::string& run, const ResumeTarget& target,
                              tamiyo::RunPolicy& policy);

// The warning for a checkpoint that the journal could not confirm; `doubt` is from check_growth().
std::string why_unchecked(const std::string& checkpoint, const history::RunHistory& journal, const std::string& doubt);

}  // namespace esper::tolaria
