#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

int train(EngineRequest request) {
  if (request.config_path.empty() && request.resume.empty()) {
    throw leyline::Error(leyline::ExitCode::kConfig,
                         "name what to train: --config FILE for a new run, or --resume RUN to continue one");
  }
  if (request.config_path.empty()) request.config_path = config_in_run(request.resume);
  // Before the engine is loaded: a mistake in the file then costs milliseconds.
  request.config = leyline::load_run_config(request.config_path, request.assignments);
  return run_in_engine(request);
}

}  // namespace

void add_train(Front& front) {
  CLI::App* command = add_command(front.root, "train", "Train a network as a run file says",
                                  "esper train --config configs/run/digits.yaml --set epochs=5\n"
                                  "         esper train --resume runs/digits-20260301-120000");
  const auto request = std::make_shared<EngineRequest>();
  request->command = "train";
  command->add_option("--config", request->config_path, "Run file; with --resume the run's own unless given")
      ->type_name("FILE");
  add_set_option(*command, request->assignments);
  CLI::Option* run_dir =
      command->add_option("--run-dir", request->run_dir, "Run folder to make; a new one in runs_dir if left out")
          ->type_name("DIR");
  command->add_option("--resume", request->resume, "Run folder to continue, from its newest good checkpoint")
      ->type_name("RUN")
      ->excludes(run_dir);
  command->add_flag("--dry-run", request->dry_run, "Build everything, print its sizes, train nothing");
  command->add_flag("-q,--quiet", request->quiet, "No progress and no events on the console");
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return train(*request); }; });
}

}  // namespace esper
