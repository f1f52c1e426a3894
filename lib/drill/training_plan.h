#pragma once
// What a drill trains: a user's run file, by the user's own command. Any thread.

#include <string>
#include <vector>

#include "history/growth/checkpoint_list.h"

namespace esper::drill {

struct TrainingPlan {
  std::string program;  // esper
  std::string config;   // the run file
  std::vector<std::string> assignments;
  std::string cache_dir;  // of compiled programs; empty: where all runs keep them
};

// The command that begins a run in this folder.
std::vector<std::string> train_command(const TrainingPlan& plan, const std::string& run);
// The one that goes on with it after its process has ended: from its newest checkpoint, and where there is none from
// the start, in an empty folder. Throws IoError.
std::vector<std::string> continue_command(const TrainingPlan& plan, const std::string& run);
// A run's checkpoints, oldest first; none where there is no such run.
std::vector<history::CheckpointEntry> checkpoints_in(const std::string& run);

}  // namespace esper::drill
