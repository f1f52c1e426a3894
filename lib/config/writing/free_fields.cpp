#include "config/writing/free_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/names.h"
#include "base/text/joined.h"
#include "config/facts/deepening.h"

namespace esper::config {
namespace {

using nlohmann::ordered_json;

// Fields, and sections as a whole.
constexpr std::array<std::string_view, 15> kFree{"name",
                                                 "runs_dir",
                                                 "safety",
                                                 "telemetry",
                                                 "checkpoint",
                                                 "step.lane",
                                                 "step.compile",
                                                 "step.graph",
                                                 "step.check_every",
                                                 "data.workers",
                                                 "data.prefetch",
                                                 "data.pin_memory",
                                                 "data.persistent_workers",
                                                 "data.gpu_prefetch",
                                                 "data.gpu_dataset"};

constexpr std::array<std::string_view, 2> kDataPaths{"data.path", "data.validation_path"};
constexpr std::string_view kDevice = "device.kind";
constexpr std::string_view kTestPath = "data.test_path";  // no test sample is trained on
// What it begins with; checkpoints hold the network's tensors, and the run folder its programs.
constexpr std::array<std::string_view, 2> kHostFiles{"host.path", "host.weights"};
constexpr std::string_view kPolicyFile = "policy.file";    // checkpoints know the weights that it holds
constexpr std::string_view kEnsemble = "policy.ensemble";  // only its first policy decides

// The settings that one policy alone reads; the heuristic's have some that apply to the seeds of every policy.
constexpr std::array kOwnSettings{
    std::pair{PolicyKind::kPeriodic, "policy.periodic"}, std::pair{PolicyKind::kRandom, "policy.random"},
    std::pair{PolicyKind::kSchedule, "policy.schedule"}, std::pair{PolicyKind::kGnn, "policy.gnn"},
    std::pair{PolicyKind::kProcess, "policy.command"}};

// The settings of the service, which asks some policies.
constexpr std::array<std::string_view, 4> kOfService{"policy.breaker", "policy.risk", "policy.recovery_evaluations",
                                                     "policy.reports"};

// Whether the policy would be asked without the service, were it in a thread: with the service it may decide otherwise.
bool host_matters(const PolicyConfig& policy) {
  auto in_thread = policy;
  in_thread.host = PolicyHost::kThread;
  return policy.is_served(policy.deciding()) && !in_thread.is_served(policy.deciding());
}

void erase_path(ordered_json& root, std::string_view path) {
  const auto dot = path.find('.');
  if (dot == std::string_view::npos) {
    root.erase(std::string(path));
  } else {
    root.at(std::string(path.substr(0, dot))).erase(std::string(path.substr(dot + 1)));
  }
}

}  // namespace

bool epochs_are_fixed(const RunConfig& config) {
  const ScheduleConfig& schedule = config.training.schedule;
  const bool cosine_ends = schedule.kind == ScheduleKind::kCosine && schedule.total_steps == 0;
  const bool has_percentage =
      config.policy.deciding() == PolicyKind::kSchedule &&
      std::ranges::any_of(scheduled_germinations(config), [](const auto& line) { return line && line->percent > 0; });
  const bool seeds_end = config.growth.enabled && config.growth.seed_schedule.kind == SeedScheduleKind::kCosine;
  return cosine_ends || has_percentage || seeds_end;
}

void erase_free_fields(const RunConfig& config, ordered_json& resolved, FreeAsOf version) {
  for (const auto path : kFree) erase_path(resolved, path);
  for (const auto path : kHostFiles) erase_path(resolved, path);
  erase_path(resolved, kTestPath);
  erase_path(resolved, kPolicyFile);
  erase_path(resolved, kEnsemble);
  resolved.at("policy")["kind"] = base::name_of(config.policy.deciding());
  for (const auto& [kind, path] : kOwnSettings) {
    if (config.policy.deciding() != kind) erase_path(resolved, path);
  }
  if (!config.policy.is_served(config.policy.deciding())) {
    for (const auto path : kOfService) erase_path(resolved, path);
  }
  if (!host_matters(config.policy)) erase_path(resolved, "policy.host");
  if (!epochs_are_fixed(config)) resolved.erase("epochs");
  if (version == FreeAsOf::kDeviceAndPathsKept) return;
  for (const auto path : kDataPaths) erase_path(resolved, path);
  if (version == FreeAsOf::kNow) erase_path(resolved, kDevice);
}

std::string free_fields_text() {
  return fmt::format(
      "{} and {}; {} and {} if training and validation data stay the same; {} if the network stays the same; {} if its "
      "weights stay the same; {} but for its first policy; settings of policies that do not decide; and epochs "
      "unless a cosine schedule (of seeds, too) ends with the run or policy.schedule or growth.deepen has percentages "
      "of it",
      base::joined(kFree), kDevice, base::joined(kDataPaths), kTestPath, base::joined(kHostFiles, " and "), kPolicyFile,
      kEnsemble);
}

}  // namespace esper::config
