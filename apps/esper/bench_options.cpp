#include "esper/bench_options.h"

#include <algorithm>
#include <filesystem>

#include "esper/front.h"
#include "esper/run_options.h"
#include "esper/scenarios.h"
#include "leyline/config/step_config.h"
#include "leyline/names.h"
#include "leyline/nearest.h"

namespace esper {
namespace {

using leyline::Error;
using leyline::ExitCode;
using leyline::Lane;

constexpr const char* kReference = "reference";
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
  const auto close = leyline::nearest(name, names);
  throw Error(ExitCode::kConfig,
              "there is no scenario " + name +
                  (close ? "; did you mean " + *close + "?" : "; scenarios: " + CLI::detail::join(names, ", ")));
}

void add_number(std::vector<std::string>& out, const char* field, const std::optional<int>& value) {
  if (value) out.push_back(std::string(field) + "=" + std::to_string(*value));
}

leyline::RunConfig read_scenario(const Scenario& scenario, const std::vector<std::string>& assignments) {
  auto loaded = leyline::read_run_config_text(scenario.text, "scenario " + std::string(scenario.name), assignments);
  if (!loaded.problems.empty()) throw leyline::ConfigError(std::move(loaded.problems));
  return loaded.config;
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

// What is wrong with one more entry of --lanes; empty: nothing.
std::string lane_problem(const std::string& name, const std::vector<std::string>& earlier,
                         const BenchOptions& options) {
  if (name.empty()) return "entry " + std::to_string(earlier.size() + 1) + " is empty";
  const auto lane = leyline::from_name<Lane>(name);
  if (!lane) return "\"" + name + "\" is no lane; lanes: " + leyline::all_names<Lane>();
  if (std::find(earlier.begin(), earlier.end(), name) != earlier.end()) return name + " is there twice";
  const bool compiles = *lane == Lane::kCompiled || *lane == Lane::kAuto;
  if (compiles && options.no_compile) return "--no-compile leaves " + name + " out; drop one of the two";
  return "";
}

}  // namespace

void add_workload_options(CLI::App& command, BenchOptions& options, int fewest_rounds) {
  CLI::Option* config =
      command.add_option("--config", options.config, "Measure this run file's training")->type_name("FILE");
  command
      .add_option("--scenario", options.scenario,
                  "A workload of Esper's own: " + CLI::detail::join(scenario_names(), ", "))
      ->type_name("NAME")
      ->excludes(config);
  add_set_option(command, options.assignments);
  command.add_option("--threads", options.threads, "Threads inside one operator; the scenarios take 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_option("--epochs", options.epochs, "Epochs of the run through the real loop")
      ->type_name("N")
      ->check(CLI::Range(3, 1'000'000));
  command
      .add_option("--lanes", options.lanes, "Lanes to measure, by comma; the first is what others are compared with")
      ->type_name("LIST");
  command.add_option("--rounds", options.rounds, "Rounds in which all rows take turns")
      ->type_name("N")
      ->check(CLI::Range(fewest_rounds, kMostRounds))
      ->capture_default_str();
  add_json_flag(command, options.json);
}

void add_lane_options(CLI::App& command, BenchOptions& options) {
  command.add_flag("--no-compile", options.no_compile, "Leave the compiled lanes (compiled, auto) out");
  command
      .add_option("--compile-mode", options.compile_mode,
                  "step.compile.mode: " + leyline::all_names<leyline::CompileMode>())
      ->type_name("M");
  command.add_flag("--compile-dynamic", options.compile_dynamic,
                   "step.compile.dynamic: one program for all sizes; refused, not there yet");
  command.add_option("--compile-warmup-steps", options.compile_warmup_steps, "step.compile.warmup_steps")
      ->type_name("N");
  command.add_flag("--enable-graphs", options.enable_graphs,
                   "Measure the CUDA graph in place of the compiled lanes; it needs a GPU");
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
  if (!options.compile_mode.empty()) out.push_back("step.compile.mode=" + options.compile_mode);
  if (options.compile_dynamic) out.emplace_back("step.compile.dynamic=true");
  add_number(out, "step.compile.warmup_steps", options.compile_warmup_steps);
  add_number(out, "step.graph.warmup_batches", options.graph_warmup_batches);
  if (options.enable_graphs) {
    out.emplace_back("step.lane=graph");
  } else if (options.no_compile) {
    out.emplace_back("step.lane=eager");
  }
  if (options.enable_gpu_prefetch) out.emplace_back("data.gpu_prefetch=true");
  if (options.gpu_dataset) out.emplace_back("data.gpu_dataset=on");
  add_number(out, "data.workers", options.dataloader_workers);
  add_number(out, "data.prefetch", options.prefetch_factor);
  if (options.no_persistent_workers) out.emplace_back("data.persistent_workers=false");
  if (options.no_pin_memory) out.emplace_back("data.pin_memory=false");
  add_number(out, "device.threads", options.threads);
  add_number(out, "epochs", options.epochs);
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
    if (const auto problem = lane_problem(name, lanes, options); !problem.empty())
      throw Error(ExitCode::kConfig, "--lanes " + *options.lanes + ": " + problem);
    lanes.push_back(name);
  }
  return lanes;
}

bool is_growth(const BenchRequest& bench) { return bench.built_in && bench.scenario == "growth"; }

EngineRequest bench_request(const BenchOptions& options) {
  EngineRequest request;
  request.assignments = assignments_of(options);
  request.json = options.json;
  request.bench.lanes = lanes_of(options);
  request.bench.rounds = options.rounds;
  request.bench.commit = build_commit();
  request.bench.built_in = options.config.empty();
  request.config_path = options.config;
  if (options.config.empty()) {
    const Scenario& scenario = find_scenario(options.scenario.empty() ? kReference : options.scenario);
    request.bench.scenario = scenario.name;
    request.config = read_scenario(scenario, request.assignments);
  } else {
    request.bench.scenario = std::filesystem::path(options.config).stem().string();
    request.config = leyline::load_run_config(options.config, request.assignments);
  }
  return request;
}

}  // namespace esper
