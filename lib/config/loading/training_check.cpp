#include "config/loading/training_check.h"

#include <algorithm>

namespace esper::config {

void check_for_training(LoadedConfig& loaded) {
  if (loaded.config.step.lane != Lane::kGraph || loaded.config.device.kind != "cpu") return;
  const bool is_doubtful = std::ranges::any_of(loaded.problems, [](const base::Problem& problem) {
    return problem.path == "step.lane" || problem.path == "device.kind";
  });
  if (is_doubtful) return;
  loaded.problems.push_back(
      {loaded.origins.at("step.lane"), "step.lane",
       "graph cannot run with device.kind: cpu, since a CUDA graph needs a GPU; use auto, replay or compiled"});
}

}  // namespace esper::config
