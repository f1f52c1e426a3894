#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "esper/bench/bench_options.h"
#include "esper/bench_daemon/bench_daemon.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

struct BenchCommand : BenchOptions {
  std::string output_dir, peer, peer_model, against;
  bool counts = false, precision_drift = false;
  int drift_steps = 20;
  std::optional<int> queued, idle_s;  // of scenario daemon
  bool rounds_given = false;
};

struct GivenFlag {
  bool is_given;
  const char* name;
};

void refuse_given(std::span<const GivenFlag> flags, const std::string& where) {
  for (const auto& [is_given, name] : flags) {
    if (is_given) throw base::Error(base::ExitCode::kConfig, std::string(name) + " does not apply to " + where);
  }
}

// That scenario is one run, and a run is in one lane.
void refuse_for_growth(const BenchCommand& options, const Comparison& comparison) {
  if (!is_growth(comparison) || options.counts) return;
  const GivenFlag given[] = {{options.lanes.has_value(), "--lanes"},
                             {!options.peer.empty(), "--peer"},
                             {!options.against.empty(), "--against"}};
  refuse_given(given,
               "scenario growth, which measures one run in its step.lane; for another lane: --set step.lane=NAME");
}

// That scenario measures the policy network and runs that it decides, in no other lane than step.lane.
void refuse_for_policy(const BenchCommand& options, const Comparison& comparison) {
  if (!is_policy(comparison)) return;
  const GivenFlag given[] = {{options.lanes.has_value(), "--lanes"},
                             {!options.compile_mode.empty(), "--compile-mode"},
                             {options.compile_dynamic, "--compile-dynamic"},
                             {options.compile_warmup_steps.has_value(), "--compile-warmup-steps"},
                             {options.enable_graphs, "--enable-graphs"},
                             {options.graph_warmup_batches.has_value(), "--graph-warmup-batches"},
                             {options.counts, "--counts"},
                             {options.precision_drift, "--precision-drift"},
                             {!options.against.empty(), "--against"},
                             {!options.output_dir.empty(), "--output-dir"}};
  refuse_given(given,
               "scenario policy, which measures the policy network and the runs that it decides, in their step.lane; "
               "without a compiler: --no-compile; for another lane: --set step.lane=NAME");
}

// That scenario measures the queue's process, and a training through it, in its step.lane.
void refuse_for_daemon(const BenchCommand& options) {
  const GivenFlag given[] = {{options.lanes.has_value(), "--lanes"},
                             {!options.peer.empty(), "--peer"},
                             {options.counts, "--counts"},
                             {options.precision_drift, "--precision-drift"},
                             {!options.against.empty(), "--against"},
                             {!options.output_dir.empty(), "--output-dir"}};
  refuse_given(given, "scenario daemon, which measures the queue's process");
}

int measure_daemon(const BenchCommand& options, const BenchRequest& request) {
  refuse_for_daemon(options);
  DaemonBench bench{.config = request.job.config, .commit = request.comparison.commit, .json = options.json};
  if (options.rounds_given) bench.rounds = options.rounds;
  bench.queued = options.queued.value_or(bench.queued);
  bench.idle_s = options.idle_s.value_or(bench.idle_s);
  return bench_daemon(bench);
}

void refuse_for_others(const BenchCommand& options) {
  const char* flag = options.queued ? "--queued" : options.idle_s ? "--idle" : nullptr;
  if (flag == nullptr) return;
  throw base::Error(base::ExitCode::kConfig, std::string(flag) + " applies only to scenario daemon");
}

void refuse_other_policies(const BenchRequest& request) {
  if (!is_policy(request.comparison) || request.job.config.policy.kind == config::PolicyKind::kGnn) return;
  throw base::Error(base::ExitCode::kConfig,
                    "policy.kind: scenario policy measures the policy network; leave it at gnn, or measure another "
                    "policy's epochs with esper bench --config FILE");
}

void refuse_model_without_peer(const BenchCommand& options) {
  if (options.peer_model.empty() || !options.peer.empty() || options.precision_drift) return;
  throw base::Error(base::ExitCode::kConfig, "--peer-model applies only to --peer and --precision-drift");
}

int bench(const BenchCommand& options) {
  refuse_model_without_peer(options);
  BenchRequest request{comparison_of(options), job_of(options),    Measured::kTimes,
                       options.drift_steps,    options.output_dir, std::nullopt};
  if (is_daemon(request.comparison)) return measure_daemon(options, request);
  refuse_for_others(options);
  if (!options.peer.empty()) request.measured = Measured::kTimesAndPeer;
  if (options.counts) request.measured = Measured::kCounts;
  if (options.precision_drift) {
    request.measured = Measured::kDrift;
    request.comparison.lanes = {"eager"};
  }
  request.comparison.peer_model = options.peer_model;
  if (!options.against.empty()) {
    request.comparison.against = std::filesystem::path(options.against).stem().string();
    request.against = run_config_of(options, options.against);
  }
  refuse_for_growth(options, request.comparison);
  refuse_for_policy(options, request.comparison);
  refuse_other_policies(request);
  return run_in_engine(request);
}

}  // namespace

void add_bench(Front& front) {
  CLI::App* command =
      add_command(front.root, "bench", "Measure a training step in every lane, and whole epochs (docs/bench.md)",
                  "esper bench --scenario mlp --peer python\n"
                  "         esper bench --config configs/run/digits.yaml --lanes eager,compiled --json");
  const auto options = std::make_shared<BenchCommand>();
  add_workload_options(*command, *options);
  add_lane_options(*command, *options);
  CLI::Option* folder =
      command->add_option("--output-dir", options->output_dir, "Output folder for the drill artefacts")
          ->type_name("DIR")
          ->check(refuse_empty);
  CLI::Option* peer = command->add_option("--peer", options->peer, "Also measure the same training in Python: python")
                          ->type_name("NAME")
                          ->check(CLI::IsMember({"python"}));
  command
      ->add_option("--peer-model", options->peer_model,
                   "With --peer or --precision-drift, and an imported network: the model that it was imported from")
      ->type_name("MODULE.py:NAME");
  command
      ->add_option("--against", options->against,
                   "Also measure this run file's training, alternating with the first; flags and --set apply to both")
      ->type_name("FILE")
      ->check(refuse_empty)
      ->excludes(folder);
  command->add_flag("--counts", options->counts, "Count operators and host reads of a step, without timing")
      ->excludes(folder)
      ->excludes(peer)
      ->excludes("--against");
  CLI::Option* drift = command->add_flag("--precision-drift", options->precision_drift,
                                         "How far each precision is from float64 after the same steps; needs Python");
  for (const char* other : {"--output-dir", "--peer", "--against", "--counts", "--lanes"}) drift->excludes(other);
  command->add_option("--drift-steps", options->drift_steps, "Steps of --precision-drift")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str()
      ->needs(drift);
  command->add_option("--queued", options->queued, "Scenario daemon: jobs in the full queue; default: 10000")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--idle", options->idle_s, "Scenario daemon: seconds of the idle process; default: 60")
      ->type_name("S")
      ->check(CLI::Range(1, 86400));
  command->callback([&front, options, command] {
    options->rounds_given = command->count("--rounds") > 0;
    front.run = [options] { return bench(*options); };
  });
}

}  // namespace esper
