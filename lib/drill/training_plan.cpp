#include "drill/training_plan.h"

#include <filesystem>

#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::drill {
namespace {

// The file is the user's own, so the programs that it names are trusted, also where a run folder repeats it.
std::vector<std::string> command(const TrainingPlan& plan, const std::vector<std::string>& what) {
  std::vector<std::string> words{plan.program, "train", "--quiet", "--trust-program"};
  words.insert(words.end(), what.begin(), what.end());
  if (!plan.cache_dir.empty()) words.insert(words.end(), {"--cache-dir", plan.cache_dir});
  return words;
}

}  // namespace

std::vector<std::string> train_command(const TrainingPlan& plan, const std::string& run) {
  auto words = command(plan, {"--config", plan.config, "--run-dir", run});
  for (const auto& assignment : plan.assignments) words.insert(words.end(), {"--set", assignment});
  return words;
}

std::vector<std::string> continue_command(const TrainingPlan& plan, const std::string& run) {
  if (!checkpoints_in(run).empty()) return command(plan, {"--resume", run});
  storage::remove_all(storage::real_file_system(), run);
  return train_command(plan, run);
}

std::vector<history::CheckpointEntry> checkpoints_in(const std::string& run) {
  if (!std::filesystem::exists(run + "/checkpoints")) return {};
  return history::list_checkpoints(storage::real_file_system(), run + "/checkpoints");
}

}  // namespace esper::drill
