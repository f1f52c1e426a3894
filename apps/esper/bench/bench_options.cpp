#include "esper/bench/bench_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/expected.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "config/loading/assignment.h"
#include "config/step_config.h"
#include "esper/bench/scenarios.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "esper/version.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;
using config::Lane;

constexpr const char *kReference = "reference", *kPolicy = "policy";
constexpr int kMostRounds = 1000;

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios()) names.emplace_back(scenario.name);
  return names;
}

const Scenario& find_scenario(const std::string& name) {
  for (const Scenario& scenario : scenarios()) {
    if (scenario.name == name) return scenario;
  }
  const auto names = scenario_names();
  const auto close = base::nearest(name, names);
  throw Error(
      ExitCode::kConfig,
      "unknown scenario " + name + (close ? "; did you mean " + *close + "?" : "; scenarios: " + base::joined(names)));
}

// What a flag says about the run file.
struct Meaning {
  std::string flag, assignment;  // as given, with its value: "--compile-mode default", "step.compile.mode=default"
};

std::vector<Meaning> meanings_of(const BenchOptions& options) {
  std::vector<Meaning> out;
  const auto on = [&](bool given, const std::string& flag, const std::string& assignment) {
    if (given) out.push_back({flag, assignment});
  };
  const auto value = [&](const std::optional<int>& given, const std::string& flag, const std::string& field) {
    if (given) out.push_back({fmt::format("{} {}", flag, *given), fmt::format("{}={}", field, *given)});
  };
  on(!options.compile_mode.empty(), "--compile-mode " + options.compile_mode,
     "step.compile.mode=" + options.compile_mode);
  on(options.compile_dynamic, "--compile-dynamic", "step.compile.dynamic=true");
  value(options.compile_warmup_steps, "--compile-warmup-steps", "step.compile.warmup_steps");
  value(options.graph_warmup_batches, "--graph-warmup-batches", "step.graph.warmup_batches");
  on(options.enable_graphs, "--enable-graphs", "step.lane=graph");
  on(options.no_compile && !options.enable_graphs, "--no-compile", "step.lane=eager");
  on(options.no_compile && options.scenario == kPolicy, "--no-compile", "policy.gnn.compile=false");
  on(options.enable_gpu_prefetch, "--enable-gpu-prefetch", "data.gpu_prefetch=true");
  on(options.gpu_dataset, "--gpu-dataset", "data.gpu_dataset=on");
  value(options.dataloader_workers, "--dataloader-workers", "data.workers");
  value(options.prefetch_factor, "--prefetch-factor", "data.prefetch");
  on(options.no_persistent_workers, "--no-persistent-workers", "data.persistent_workers=false");
  on(options.no_pin_memory, "--no-pin-memory", "data.pin_memory=false");
  value(options.threads, "--threads", "device.threads");
  value(options.epochs, "--epochs", "epochs");
  return out;
}

// The configuration; what comes by a flag has the flag for its place and not the assignment that stands for it.
config::RunConfig checked(config::LoadedConfig loaded, const BenchOptions& options) {
  for (const Meaning& meaning : meanings_of(options)) {
    const auto name_flag = [&, origin = config::assignment_origin(meaning.assignment)](base::Place& place) {
      if (place.file == origin) place.file = meaning.flag;
    };
    for (auto& problem : loaded.problems) name_flag(problem.place);
    for (auto& [field, place] : loaded.origins) name_flag(place);
  }
  return trainable_here(std::move(loaded)).config;
}

// The scenario of Esper's own where no run file is given.
const Scenario& scenario_of(const BenchOptions& options) {
  return find_scenario(options.scenario.empty() ? kReference : options.scenario);
}

config::RunConfig config_of(const BenchOptions& options) {
  if (!options.config.empty()) return run_config_of(options, options.config);
  const Scenario& scenario = scenario_of(options);
  const std::string origin = "scenario " + std::string(scenario.name);
  return checked(config::read_run_config_text(scenario.text, origin, assignments_of(options)), options);
}

// By comma, the empty ones too.
std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    entries.push_back(list.substr(from, comma - from));
    from = comma + 1;
  }
  return entries;
}

// That it may be one more entry of --lanes.
base::Expected<void> check_lane(const std::string& name, const std::vector<std::string>& earlier,
                                const BenchOptions& options) {
  if (name.empty()) return base::failure(fmt::format("entry {} is empty", earlier.size() + 1));
  const auto lane = base::from_name<Lane>(name);
  if (!lane) return base::failure(fmt::format("\"{}\" is not a lane; lanes: {}", name, base::all_names<Lane>()));
  if (std::find(earlier.begin(), earlier.end(), name) != earlier.end()) return base::failure(name + " is listed twice");
  const bool compiles = *lane == Lane::kCompiled || *lane == Lane::kAuto;
  if (compiles && options.no_compile)
    return base::failure(fmt::format("--no-compile excludes {}; remove one of the two", name));
  return {};
}

}  // namespace

void add_workload_options(CLI::App& command, BenchOptions& options, int fewest_rounds) {
  CLI::Option* config = command.add_option("--config", options.config, "Measure this run file's training")
                            ->type_name("FILE")
                            ->check(refuse_empty);
  command.add_option("--scenario", options.scenario, "Built-in workload: " + base::joined(scenario_names()))
      ->type_name("NAME")
      ->check(refuse_empty)
      ->excludes(config);
  add_set_option(command, options.assignments);
  command.add_option("--threads", options.threads, "Threads per operator; built-in scenarios use 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_option("--epochs", options.epochs, "Epochs to run through the full training loop")
      ->type_name("N")
      ->check(CLI::Range(3, 1'000'000));
  command.add_option("--lanes", options.lanes, "Lanes to measure, separated by commas; the first is the reference")
      ->type_name("LIST");
  command.add_option("--rounds", options.rounds, "Interleaved measurement rounds")
      ->type_name("N")
      ->check(CLI::Range(fewest_rounds, kMostRounds))
      ->capture_default_str();
  add_cache_dir_option(command, options.cache_dir);
  add_json_flag(command, options.json);
}

void add_lane_options(CLI::App& command, BenchOptions& options) {
  command.add_flag("--no-compile", options.no_compile, "Skip the compiled lanes (compiled, auto)");
  command
      .add_option("--compile-mode", options.compile_mode,
                  "step.compile.mode: " + base::all_names<config::CompileMode>())
      ->type_name("M");
  command.add_flag("--compile-dynamic", options.compile_dynamic,
                   "step.compile.dynamic: one program for all batch sizes");
  command.add_option("--compile-warmup-steps", options.compile_warmup_steps, "step.compile.warmup_steps")
      ->type_name("N");
  command.add_flag("--enable-graphs", options.enable_graphs,
                   "Measure the CUDA graph lane instead of the compiled lanes (needs a GPU)");
  command.add_option("--graph-warmup-batches", options.graph_warmup_batches, "step.graph.warmup_batches")
      ->type_name("N");
  command.add_flag("--enable-gpu-prefetch", options.enable_gpu_prefetch, "data.gpu_prefetch: true");
  command.add_flag("--gpu-dataset", options.gpu_dataset, "data.gpu_dataset: on");
  command.add_option("--dataloader-workers", options.dataloader_workers, "data.workers")->type_name("N");
  command.add_option("--prefetch-factor", options.prefetch_factor, "data.prefetch")->type_name("N");
  command.add_flag("--no-persistent-workers", options.no_persistent_workers, "data.persistent_workers: false");
  command.add_flag("--no-pin-memory", options.no_pin_memory, "data.pin_memory: false");
}

std::vector<std::string> assignments_of(const BenchOptions& options) {
  std::vector<std::string> out;
  for (const Meaning& meaning : meanings_of(options)) out.push_back(meaning.assignment);
  out.insert(out.end(), options.assignments.begin(), options.assignments.end());
  return out;
}

std::vector<std::string> lanes_of(const BenchOptions& options) {
  if (!options.lanes) {
    if (options.enable_graphs) return {"eager", "replay", "graph"};
    if (options.no_compile) return {"eager", "replay"};
    return {"eager", "replay", "compiled", "auto"};
  }
  std::vector<std::string> lanes;
  for (const std::string& name : entries_of(*options.lanes)) {
    if (const auto lane = check_lane(name, lanes, options); !lane) {
      throw Error(ExitCode::kConfig, fmt::format("--lanes {}: {}", *options.lanes, lane.error()));
    }
    lanes.push_back(name);
  }
  return lanes;
}

bool is_growth(const Comparison& comparison) { return comparison.built_in && comparison.scenario == "growth"; }

bool is_policy(const Comparison& comparison) { return comparison.built_in && comparison.scenario == kPolicy; }

bool is_daemon(const Comparison& comparison) { return comparison.built_in && comparison.scenario == "daemon"; }

Comparison comparison_of(const BenchOptions& options) {
  Comparison comparison;
  comparison.lanes = lanes_of(options);
  comparison.rounds = options.rounds;
  comparison.commit = build_commit();
  comparison.built_in = options.config.empty();
  comparison.scenario =
      comparison.built_in ? scenario_of(options).name : std::filesystem::path(options.config).stem().string();
  return comparison;
}

config::RunConfig run_config_of(const BenchOptions& options, const std::string& file) {
  return checked(config::read_run_config(file, assignments_of(options)), options);
}

Job job_of(const BenchOptions& options) { return {config_of(options), options.cache_dir, options.json}; }

}  // namespace esper
