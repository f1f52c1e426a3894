#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "leyline/clock.h"
#include "leyline/config/field_table.h"
#include "leyline/config/field_text.h"
#include "leyline/config/write.h"

namespace esper {
namespace {

using leyline::RunConfig;

// "training.optimizer.lr: 0.05 -> 0.1", for each field in which they differ and that the training depends on.
std::string training_changes(RunConfig before, RunConfig after) {
  const std::string text = leyline::resolved_yaml(before);
  const auto rows = leyline::field_table(before);
  const auto others = leyline::field_table(after);
  std::string changes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string old_value = leyline::field_yaml(rows[i].value), value = leyline::field_yaml(others[i].value);
    if (old_value == value) continue;
    const auto alone = leyline::read_run_config_text(text, "the run's file", {rows[i].path + "=" + value});
    if (leyline::training_hash(alone.config) == leyline::training_hash(before)) continue;
    changes += "\n  " + rows[i].path + ": " + old_value + " -> " + value;
  }
  return changes;
}

// A resumed run goes on with the training it began.
void refuse_other_training(const EngineRequest& request) {
  const std::string path = config_in_run(request.resume);
  const RunConfig before = leyline::load_run_config(path);
  if (leyline::training_hash(before) == leyline::training_hash(request.config)) return;
  throw leyline::Error(
      leyline::ExitCode::kConfig,
      "run " + request.resume + " was begun with another training; it would change" +
          training_changes(before, request.config) +
          "\nA resumed run may change name, runs_dir, safety, checkpoint, telemetry, step.lane and how lanes are made, "
          "data.path and data.validation_path if the data is the same, data.workers, data.prefetch, data.pin_memory, "
          "data.persistent_workers, data.gpu_prefetch, data.gpu_dataset, "
          "and epochs unless a cosine schedule ends with the run. For anything else begin a new "
          "run: esper train --config " +
          path + " --set ...");
}

int train(EngineRequest request) {
  if (request.config_path.empty() && request.resume.empty()) {
    throw leyline::Error(leyline::ExitCode::kConfig,
                         "name what to train: --config FILE for a new run, or --resume RUN to continue one");
  }
  if (request.config_path.empty()) request.config_path = config_in_run(request.resume);
  // Before the engine is loaded: a mistake in the file then costs milliseconds.
  request.config = leyline::load_run_config(request.config_path, request.assignments);
  if (!request.resume.empty()) refuse_other_training(request);
  return run_in_engine(request);
}

}  // namespace

void add_train(Front& front) {
  CLI::App* command = add_command(front.root, "train", "Train a network as a run file says",
                                  "esper train --config configs/run/digits.yaml --set epochs=5\n"
                                  "         esper train --resume runs/digits-20260301-120000");
  const auto request = std::make_shared<EngineRequest>();
  request->command = "train";
  request->started = leyline::Clock().now();
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
  command->add_flag(
      "--trace", request->trace,
      "Write trace.json into the run folder: what the training thread did when (chrome://tracing, Perfetto)");
  command->add_flag("-q,--quiet", request->quiet, "No progress and no events on the console");
  add_json_flag(*command, request->json);
  command->callback([&front, request] { front.run = [request] { return train(*request); }; });
}

}  // namespace esper
