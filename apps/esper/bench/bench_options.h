#pragma once
// What `esper bench` and `esper baseline` share of the command line: a scenario or a run file, with the reference's
// flags on top. Each flag is an assignment to a field of the run file, so that it means the same to `esper train
// --set`.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "esper/engine_api.h"

namespace esper {

struct BenchOptions {
  std::string config, scenario;
  std::vector<std::string> assignments;
  bool no_compile = false, compile_dynamic = false, enable_graphs = false, enable_gpu_prefetch = false;
  bool gpu_dataset = false, no_persistent_workers = false, no_pin_memory = false;
  std::string compile_mode, cache_dir;
  std::optional<int> compile_warmup_steps, graph_warmup_batches, dataloader_workers, prefetch_factor, threads, epochs;
  std::optional<std::string> lanes;  // by comma; left out: as the flags say
  int rounds = 21;
  bool json = false;
};

inline constexpr int kFewestRounds = 3, kFewestKeptRounds = 15;  // the latter for a verdict

// --config, --scenario, --set, --threads, --epochs, --lanes, --rounds, --cache-dir, --json.
void add_workload_options(CLI::App& command, BenchOptions& options, int fewest_rounds = kFewestRounds);
// --no-compile to --no-pin-memory.
void add_lane_options(CLI::App& command, BenchOptions& options);

// The flags as assignments; those of --set come last.
std::vector<std::string> assignments_of(const BenchOptions& options);
// The lanes to measure: of --lanes, else eager, replay, compiled and auto, without the compiled ones under --no-compile
// and --enable-graphs, with the graph under --enable-graphs. Throws Error{kConfig} for a name that is no lane, is empty
// or comes twice, and for a compiled lane with --no-compile.
std::vector<std::string> lanes_of(const BenchOptions& options);

// Whether it is the scenario that grows: one run, no rows side by side.
bool is_growth(const Comparison& comparison);
// Whether it is the scenario of the policy network, which has no rows of lanes.
bool is_policy(const Comparison& comparison);
// Whether it is the scenario of the daemon's queue, which has no rows of lanes either.
bool is_daemon(const Comparison& comparison);

// Throws Error{kConfig}, as lanes_of() and for a scenario that there is not.
Comparison comparison_of(const BenchOptions& options);
// The training of a run file, with the flags and --set of the command line. Throws as trainable_here().
config::RunConfig run_config_of(const BenchOptions& options, const std::string& file);
// The training whose steps are measured. Throws Error{kConfig}, likewise for the scenario, and as trainable_here().
Job job_of(const BenchOptions& options);

}  // namespace esper
