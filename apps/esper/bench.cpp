#include "esper/bench_options.h"
#include "esper/engine_loader.h"
#include "esper/front.h"

namespace esper {
namespace {

struct Options : BenchOptions {
  std::string output_dir, peer;
  bool counts = false;
};

int bench(const Options& options) {
  EngineRequest request = bench_request(options);
  request.command = "bench";
  request.bench.output_dir = options.output_dir;
  request.bench.peer_python = !options.peer.empty();
  request.bench.counts_only = options.counts;
  return run_in_engine(request);
}

}  // namespace

void add_bench(Front& front) {
  CLI::App* command = add_command(
      front.root, "bench", "Measure a training step in every lane, and whole epochs; docs/bench.md explains",
      "esper bench --scenario mlp --peer python\n"
      "         esper bench --config configs/run/digits.yaml --lanes eager,compiled --json");
  const auto options = std::make_shared<Options>();
  add_workload_options(*command, *options);
  add_lane_options(*command, *options);
  command->add_option("--output-dir", options->output_dir, "Folder to write the artefacts of the drills into")
      ->type_name("DIR");
  command->add_option("--peer", options->peer, "Train the same in Python beside it: python")
      ->type_name("NAME")
      ->check(CLI::IsMember({"python"}));
  command->add_flag("--counts", options->counts, "Count what a step does, time nothing");
  command->callback([&front, options] { front.run = [options] { return bench(*options); }; });
}

}  // namespace esper
