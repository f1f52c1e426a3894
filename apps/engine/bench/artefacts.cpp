#include "engine/bench/artefacts.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/fault.h"
#include "base/statistics.h"
#include "device/facts.h"
#include "device/select.h"
#include "engine/bench/controllers.h"
#include "engine/bench/report.h"
#include "engine/python/find_python.h"
#include "storage/atomic_publish.h"
#include "tamiyo/heuristic.h"

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

constexpr int kTimeoutEpochs = 40;
constexpr std::uint64_t kBadStep = 6;  // in the second epoch of the reference workload
constexpr base::Duration kRollbackDeadline = std::chrono::milliseconds(5);
constexpr base::Duration kSlowAnswer = std::chrono::milliseconds(3), kShortDeadline = std::chrono::milliseconds(1);

// Values of each metric without labels, over the epochs.
std::map<std::string, std::vector<double>> series(const LoopFigures& figures) {
  std::map<std::string, std::vector<double>> out;
  for (const auto& packet : figures.packets) {
    for (const auto& metric : packet.at("metrics")) {
      if (is_plain_number(metric)) out[metric.at("name")].push_back(metric.at("value"));
    }
  }
  return out;
}

// What an epoch takes, in contrast to counts and states.
bool is_of_each_epoch(const std::string& name) {
  return name.ends_with("_ms") || name.ends_with("_us") || name.ends_with("_per_s");
}

// One block of the file: the metrics and events of one part of Esper. Counts and states are those at the end.
ordered_json block(const LoopFigures& figures, bool of_tamiyo) {
  ordered_json metrics = ordered_json::object(), events = ordered_json::array();
  const auto epochs = series(figures);
  for (const auto& [name, value] : figures.last) {
    if (name.starts_with("tamiyo.") != of_tamiyo) continue;
    metrics[name] = is_of_each_epoch(name) && epochs.contains(name) ? base::median(epochs.at(name)) : value;
  }
  std::string level = "INFO";
  for (const auto& event : figures.events) {
    if (event.at("description").get<std::string>().starts_with("tamiyo") != of_tamiyo) continue;
    events.push_back({{"description", event.at("description")},
                      {"level", event.at("level")},
                      {"attributes", event.at("attributes")}});
    if (event.at("level") != "INFO") level = event.at("level");
  }
  return {{"metrics", metrics}, {"events", events}, {"priority", level == "INFO" ? "NORMAL" : "HIGH"}};
}

void write(base::FileSystem& files, const std::string& path, const ordered_json& value) {
  // Sorted keys, as the reference writes them.
  storage::publish_file(files, path, storage::bytes_of(nlohmann::json::parse(value.dump()).dump(2) + "\n"));
}

}  // namespace

LoopFigures run_normal_drill(const config::RunConfig& config, const Scratch& scratch) {
  return run_loop(config, scratch, "normal", scratch.cache_dir());
}

LoopFigures run_timeout_drill(const config::RunConfig& given, const Scratch& scratch) {
  config::RunConfig config = given;
  config.epochs = std::min(config.epochs, kTimeoutEpochs);
  config.safety.policy_deadline = kShortDeadline;
  auto policy = std::make_unique<tamiyo::HeuristicController>(config.policy.heuristic, config.growth, config.epochs);
  return run_loop(config, scratch, "timeout", scratch.cache_dir(), slow_controller(std::move(policy), kSlowAnswer));
}

std::string why_no_rollback_drill(const config::RunConfig& config) {
  if (config.device.precision == config::Precision::kFp16) return "single steps are not watched in fp16";
  if (!device::select_device(config.device.kind).device.is_cpu()) return "single steps are not watched on a GPU";
  if (config.task == config::Task::kLanguage) return "token inputs cannot be made NaN";
  return {};
}

LoopFigures run_rollback_drill(const config::RunConfig& given, const Scratch& scratch) {
  config::RunConfig config = given;
  config.epochs = std::min(config.epochs, kTimeoutEpochs);
  config.growth.enabled = false;
  config.policy.kind = config::PolicyKind::kNone;
  config.safety.rollback_deadline = kRollbackDeadline;
  config.safety.emergency.halt_on_late_rollback = true;
  base::fault::arm("tolaria.nan_input", kBadStep);
  base::fault::arm("tolaria.rollback_slow");
  LoopFigures figures = run_loop(config, scratch, "rollback", scratch.cache_dir(), nullptr, base::ExitCode::kTryAgain);
  base::fault::disarm_all();
  return figures;
}

ordered_json drill_json(const LoopFigures& figures, const ordered_json& environment, const ordered_json& noise) {
  ordered_json distributions = {{"epoch_ms", distribution(figures.epoch_ms)},
                                {"step_us", distribution(figures.step_us)}};
  for (const auto& [name, values] : series(figures)) {
    if (name.ends_with("_ms")) distributions[name] = distribution(values);
  }
  return {{"tolaria", block(figures, false)},
          {"tamiyo", block(figures, true)},
          {"distributions", distributions},
          {"environment", environment},
          {"noise", noise}};
}

ordered_json metadata_json(const ordered_json& environment, const std::string& no_rollback) {
  utsname system{};
  uname(&system);
  const auto cards = device::gpu_facts();
  ordered_json written{"bench.json", "metadata.json", "tolaria_normal_epoch.json", "tolaria_tamiyo_timeout.json"};
  ordered_json left_out{{"kasmina_prefetch_benchmark.json", "modules are built in the process; nothing is fetched"}};
  if (no_rollback.empty()) {
    written.push_back("tolaria_rollback_deadline.json");
  } else {
    left_out["tolaria_rollback_deadline.json"] = no_rollback;
  }
  return {{"python_version", find_python().version},
          {"platform", std::string(system.sysname) + "-" + system.release + "-" + system.machine},
          {"cpu_count", environment.at("fingerprint").at("cores")},
          {"cuda_devices", cards.size()},
          {"cuda_name", cards.empty() ? ordered_json(nullptr) : ordered_json(cards.front().name)},
          {"environment", environment},
          {"files", written},
          {"left_out", left_out}};
}

void write_artefacts(base::FileSystem& files, const std::string& folder, const ordered_json& report,
                     const config::RunConfig& config, const Scratch& scratch) {
  const auto& environment = report.at("environment");
  const auto& noise = report.at("noise");
  write(files, folder + "/tolaria_normal_epoch.json",
        drill_json(run_normal_drill(config, scratch), environment, noise));
  write(files, folder + "/tolaria_tamiyo_timeout.json",
        drill_json(run_timeout_drill(config, scratch), environment, noise));
  const std::string no_rollback = why_no_rollback_drill(config);
  if (no_rollback.empty()) {
    write(files, folder + "/tolaria_rollback_deadline.json",
          drill_json(run_rollback_drill(config, scratch), environment, noise));
  }
  write(files, folder + "/bench.json", report);
  write(files, folder + "/metadata.json", metadata_json(environment, no_rollback));
}

}  // namespace esper::engine::bench
