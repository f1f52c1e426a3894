#include "config/loading/training_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/gpu_present.h"

namespace esper::config {
namespace {

// why: the end of "a CUDA graph needs a GPU".
void refuse_graph_lane(LoadedConfig& loaded, std::string_view device, std::string_view why) {
  if (loaded.config.step.lane != Lane::kGraph || loaded.config.device.kind != device) return;
  const bool is_doubtful = std::ranges::any_of(loaded.problems, [](const base::Problem& problem) {
    return problem.path == "step.lane" || problem.path == "device.kind";
  });
  if (is_doubtful) return;
  loaded.problems.push_back(
      {loaded.origins.at("step.lane"), "step.lane",
       fmt::format(
           "graph cannot run with device.kind: {}, since a CUDA graph needs a GPU{}; use auto, replay or compiled",
           device, why)});
}

}  // namespace

void check_for_training(LoadedConfig& loaded) { refuse_graph_lane(loaded, "cpu", ""); }

void check_without_gpu(LoadedConfig& loaded) { refuse_graph_lane(loaded, "auto", fmt::format(": {}", base::kNoGpu)); }

std::optional<base::Problem> missing_gpu(const LoadedConfig& loaded) {
  const auto& kind = loaded.config.device.kind;
  if (!kind.starts_with("cuda")) return std::nullopt;
  return base::Problem{loaded.origins.at("device.kind"), "device.kind",
                       fmt::format("{} needs a GPU: {}; or set device.kind: cpu", kind, base::kNoGpu)};
}

}  // namespace esper::config
