#include <filesystem>

#include "base/clock.h"
#include "esper/engine_loader.h"
#include "esper/front.h"
#include "esper/permitted_changes.h"
#include "esper/run_options.h"
#include "esper/version.h"
#include "runs/reached_epoch.h"
#include "storage/confined_file_system.h"

namespace esper {
namespace {

struct TrainOptions {
  TrainRequest request;
  std::string config;  // the run file; empty: the resumed run's own
  std::vector<std::string> assignments;
};

// Whether the file may be one that a run keeps, by its name alone: what else lies beside it is up to whoever made the
// folder, which may have come from anywhere.
bool may_be_of_run(const std::string& config) { return std::filesystem::path(config).filename() == kRunConfigFile; }

// A resumed run continues with the training it began.
void refuse_other_training(const TrainRequest& request, const std::vector<std::string>& assignments) {
  const std::string path = history::config_in_run(request.resume);
  const config::RunConfig before = history::read_config_of_run(request.resume).config;
  refuse_overridden(request.resume, before, request.job.config, assignments);
  const std::string changes = forbidden_changes(before, request.job.config, "A resumed run");
  if (!changes.empty()) {
    throw base::Error(base::ExitCode::kConfig,
                      "run " + request.resume + " was started with other settings; these fields would change" +
                          changes + " For other changes start a new run: esper train --config " + path + " --set ...");
  }
  storage::ConfinedFileSystem files(request.resume, storage::Owner::kAnyone);
  runs::refuse_trained_epochs(files, request.resume, before.epochs, request.job.config.epochs);
}

config::RunConfig load_run_file(const std::string& file, const std::vector<std::string>& assignments) {
  config::LoadedConfig loaded = load_for_training({file, assignments});
  report_warnings(loaded);
  return std::move(loaded.config);
}

int train(TrainOptions options) {
  TrainRequest& request = options.request;
  if (options.config.empty() && request.resume.empty()) {
    throw base::Error(base::ExitCode::kConfig,
                      "choose what to train: --config FILE for a new run, or --resume RUN to continue one");
  }
  // The user's own words.
  const bool is_users_file = !options.config.empty() && !may_be_of_run(options.config);
  const bool trusts_folder = request.job.trust_program;
  if (is_users_file || sets(options.assignments, "policy.command")) request.job.trust_program = true;
  request.job.trust_data_program = trusts_folder || is_users_file || sets(options.assignments, "data.command");
  // Before the engine is loaded: a mistake in the file then costs milliseconds.
  request.job.config = options.config.empty() ? load_run_for_training(request.resume, options.assignments)
                                              : load_run_file(options.config, options.assignments);
  if (!request.resume.empty()) refuse_other_training(request, options.assignments);
  return run_in_engine(request);
}

}  // namespace

void add_train(Front& front) {
  CLI::App* command = add_command(front.root, "train", "Train a network described by a run file",
                                  "esper train --config configs/run/digits.yaml --set epochs=5\n"
                                  "         esper train --resume runs/digits-20260301-120000");
  const auto options = std::make_shared<TrainOptions>();
  TrainRequest& request = options->request;
  request.run.started = base::Clock().now();
  request.esper = build_name();
  command->add_option("--config", options->config, "Run file; with --resume, default: the run's own")
      ->type_name("FILE")
      ->check(refuse_empty);
  add_set_option(*command, options->assignments);
  CLI::Option* run_dir =
      command->add_option("--run-dir", request.run.folder, "Run folder to create; default: a new one in runs_dir")
          ->type_name("DIR")
          ->check(refuse_empty);
  command->add_option("--resume", request.resume, "Run folder to continue from its newest valid checkpoint")
      ->type_name("RUN")
      ->check(refuse_empty)
      ->excludes(run_dir);
  add_cache_dir_option(*command, request.job.cache_dir);
  command->add_flag("--dry-run", request.dry_run,
                    "Build everything and print its sizes, layers and slots, without training");
  command->add_flag(
      "--trace", request.trace,
      "Write trace.json, the training thread's timeline, into the run folder, and kernel_trace.json, the kernels of "
      "20 steps of the second epoch (chrome://tracing, Perfetto)");
  command->add_flag("-q,--quiet", request.run.quiet, "Print no progress and no events on the console");
  add_trust_flag(*command, request.job.trust_program);
  add_json_flag(*command, request.job.json);
  command->callback([&front, options] { front.run = [options] { return train(*options); }; });
}

}  // namespace esper
