#include "engine/start_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/signal_point.h"
#include "config/writing/write.h"
#include "device/rng.h"
#include "engine/end_in_time.h"
#include "engine/known_error.h"
#include "engine/no_epochs_left.h"
#include "engine/run_telemetry.h"
#include "engine/shortage.h"
#include "engine/train_report.h"
#include "history/live_request.h"
#include "kasmina/host/host_weights.h"
#include "nissa/log.h"
#include "step/ema.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "tolaria/growth/settle.h"
#include "tolaria/report/run_report.h"
#include "tolaria/run/outbox.h"
#include "tolaria/run/resume.h"
#include "tolaria/state/training_identity.h"

namespace esper::engine {
namespace {

using base::FileSystem;
using config::RunConfig;

// The model as at the start of the run.
void begin_anew(TrainingSetup& setup) {
  device::seed_all(setup.config.seed);
  setup.model = fresh_model(setup);
  begin_with_weights(setup);
}

// A fork without seeds is another network than its parent: it has no figures to end with before it trained.
void check_epochs_left(const OpenRun& open, const TrainingSetup& setup, const history::SettingChanges& accepted,
                       const tolaria::RunProgress& progress) {
  const std::string& path = open.folder.path;
  const RunConfig& own = setup.config;
  const auto settings = history::settings_at(own, accepted, progress.epoch + 1);
  const auto epochs = static_cast<std::uint32_t>(settings.epochs);
  if (progress.epoch < epochs) return;
  const std::string text = no_epochs_left(progress.epoch, settings, history::command_for_epochs(path, accepted));
  const auto with_requests = [&] { return history::settings_with(open.files, path, own, {}).epochs; };
  if (!progress.validation && progress.epoch >= static_cast<std::uint32_t>(with_requests())) {
    throw base::Error(base::ExitCode::kConfig,
                      text + "; this fork has not been trained yet; to measure it as it is: esper evaluate " + path);
  }
  const bool is_unfinished = tolaria::has_unfinished_seeds(setup.model->network);
  if (is_unfinished) {
    nissa::log::warning(text + "; its unfinished seeds stay as they are, since only the end of an epoch settles them");
  } else if (progress.epoch > epochs) {
    nissa::log::warning(text);
  } else if (history::pending_requests(open.files, path).empty()) {  // one may ask for more epochs
    nissa::log::info(text);
  }
}

bool holds(FileSystem& files, const std::string& path, const std::string& text) {
  try {
    return std::ranges::equal(storage::read_file(files, path, text.size()), storage::bytes_of(text));
  } catch (const base::IoError&) {
    return false;
  }
}

// What was changed with --set on a resumed run is kept; a full disk keeps the run from nothing.
void keep_config(const OpenRun& open, const RunConfig& config) {
  const std::string text = config::resolved_yaml(config), path = open.folder.config();
  try {
    if (holds(open.files, path, text)) return;
    storage::publish_file(open.files, path, storage::bytes_of(text));
  } catch (const base::IoError& error) {
    if (!error.out_of_space()) throw;
    nissa::log::warning(std::string("config.yaml was not updated: ") + error.what());
  }
}

// What was learned from inputs in one scale goes on in it, also where this version would measure another.
void keep_normaliser(TrainingSetup& setup, const tolaria::ResumePoint& from) {
  if (from.preprocessing.empty()) return;
  const auto saved = preprocessing_of_checkpoint(from.checkpoint, from.preprocessing);
  if (saved.standardization == setup.data.standardization) return;
  nissa::log::warning("mean and deviation of the training data are not those of " + from.checkpoint +
                      ", which are kept");
  setup.data.standardization = saved.standardization;
}

tolaria::ResumePoint find_resume_point(const OpenRun& open, TrainingSetup& setup,
                                       const tolaria::TrainingIdentity& identity,
                                       const history::SettingChanges& changes, const RestartState* restart,
                                       tamiyo::RunPolicy& policy) {
  tolaria::ResumeTarget target{
      setup.config, identity, setup.device, batches_per_epoch(setup), [&setup] { return fresh_model(setup); }, changes};
  if (restart != nullptr) {
    target.reactions = restart->reactions;
    target.newest_step = restart->newest_step;
  }
  auto from = tolaria::find_resume_point(open.files, open.folder.path, target, policy);
  if (!from.progress.safety.full_precision || setup.settings.compute_type == torch::kFloat32) return from;
  raise_precision(setup);
  if (!from.model) return from;  // from the beginning
  auto refused = std::move(from.refused);
  from = {};
  from = tolaria::find_resume_point(open.files, open.folder.path, target, policy);
  from.refused.insert(from.refused.begin(), refused.begin(), refused.end());
  return from;
}

tolaria::ResumePoint resume(const OpenRun& open, TrainingSetup& setup, const RunConfig& config,
                            const tolaria::TrainingIdentity& identity, const RestartState* restart,
                            tamiyo::RunPolicy& policy) {
  const auto changes = history::accepted_changes(open.files, open.folder.path);
  auto from = find_resume_point(open, setup, identity, changes, restart, policy);
  if (from.model) {
    setup.model = std::move(from.model);
  } else {
    begin_anew(setup);
  }
  keep_normaliser(setup, from);
  check_epochs_left(open, setup, changes, from.progress);
  if (!from.unchecked.empty()) nissa::log::warning(from.unchecked);
  keep_config(open, config);
  return from;
}

// The account of the process's time, from its first moment on.
base::Ledger open_ledger(const TrainRequest& request) {
  base::Ledger ledger(base::Clock(), request.run.started);
  if (request.trace) ledger.watch().keep_spans();
  return ledger;
}

// restart: the run goes back in this process; else null.
std::unique_ptr<Composition> compose(const TrainRequest& request, TrainingSetup& setup, const OpenRun& open,
                                     Policy policy, RestartState* restart) {
  using Kind = tolaria::RunStart::Kind;
  const bool resuming = restart != nullptr || !request.resume.empty();
  const RunConfig& config = request.job.config;
  const auto identity = tolaria::training_identity(config, setup.data);
  const auto from = resuming ? resume(open, setup, config, identity, restart, *policy.policy) : tolaria::ResumePoint();
  base::Ledger ledger = restart != nullptr ? std::move(restart->ledger) : open_ledger(request);
  return std::make_unique<Composition>(
      CompositionParts{.setup = setup,
                       .open = open,
                       .policy = std::move(policy),
                       .training_hash = identity.text(),
                       .start = {resuming ? Kind::kResumed : Kind::kNew, open.folder.path, from.checkpoint,
                                 from.refused, from.computed_on,
                                 restart == nullptr ? forecast_shortages(setup, open.files, open.folder.path)
                                                    : std::vector<tolaria::Shortage>(),
                                 request.esper},
                       .progress = from.progress,
                       .console = request.run.quiet ? Console::kNone : Console::kAsConfigured,
                       .ledger = std::move(ledger)});
}

// A run that cannot be composed again ends as others do, with a last packet and its trace. Its checkpoints stand.
// wall_s: of the run.
void report_failed_restart(const TrainingSetup& setup, const OpenRun& open, const tolaria::RestartRequest& where,
                           double wall_s, base::Ledger& ledger, const std::exception& error) {
  try {
    RunTelemetry telemetry(setup.config, open.folder, Console::kNone);
    tolaria::RunProgress progress;
    progress.epoch = where.epoch - 1;
    progress.step = where.step;
    tolaria::Outbox outbox(open.folder.run_id(), base::Clock(), progress, ledger, telemetry.sink());
    tolaria::report_failure(outbox, ledger, progress,
                            {error, exit_code_of(error), tolaria::LastState::kNotSaved, wall_s});
    telemetry.close();
    publish_trace(open.files, open.folder, ledger);
  } catch (const std::exception& unwritten) {
    nissa::log::warning(std::string("the run's end is missing in the telemetry: ") + unwritten.what());
  }
}

}  // namespace

void begin_with_weights(TrainingSetup& setup) {
  const std::string& path = setup.config.host.weights;
  if (path.empty()) return;
  const auto weights = setup.model->network.take_weights(path);
  step::restart_averages(setup.model->state);
  nissa::log::info(fmt::format("host.weights: {} tensors taken from {}", weights.taken.size(), path));
  if (const std::string text = kasmina::differences(weights); !text.empty()) {
    nissa::log::warning("host.weights: " + text.substr(0, text.size() - 1));
  }
}

std::unique_ptr<Composition> compose(const TrainRequest& request, TrainingSetup& setup, const OpenRun& open,
                                     Policy policy) {
  return compose(request, setup, open, std::move(policy), nullptr);
}

std::unique_ptr<Composition> restart_run(const TrainRequest& request, TrainingSetup& setup, const OpenRun& open,
                                         std::unique_ptr<Composition> composition, const tolaria::RunOutcome& outcome,
                                         RestartState& restart) {
  const base::Clock clock;
  const auto begin = clock.now();
  const double wall_s = composition->run().facts.wall_s(composition->run().progress);
  const tolaria::RestartRequest& where = *outcome.restart;
  restart.reactions.insert(restart.reactions.end(), where.reactions.begin(), where.reactions.end());
  restart.newest_step = where.newest_step;
  restart.from = {outcome.reason, where.epoch, where.step, {}, where.figures};
  restart.ledger = composition->take_ledger();
  auto kept = composition->bundles().release_kept();
  // In fp32, or in smaller batches, the run may come to that step with other bits.
  const auto changes_bits = [](const tolaria::ReactionRecord& made) {
    return made.reaction == tolaria::Reaction::kFullPrecision || made.reaction == tolaria::Reaction::kSplitBatches;
  };
  if (std::ranges::any_of(where.reactions, changes_bits)) kept.reset();
  const auto lift =
      end_in_time(setup.config, static_cast<int>(base::ExitCode::kTryAgain),
                  "the run in " + open.folder.path + " cannot go back; continue with esper train --resume");
  composition.reset();
  lift();
  setup.model.reset();  // one at a time: memory may be what is short
  base::fault::signal_point("tolaria.returning");
  try {
    composition = compose(request, setup, open, make_policy(request.job.config, request.job.cache_dir), &restart);
  } catch (const std::exception& error) {
    report_failed_restart(setup, open, where, wall_s, restart.ledger, error);
    throw;
  }
  restart.from.took = clock.now() - begin;
  composition->run().restart_report = restart.from;
  composition->bundles().adopt(std::move(kept));
  return composition;
}

}  // namespace esper::engine
