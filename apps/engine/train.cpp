// `esper train`: from a run file, or a run folder to continue with, to a finished run.

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/signal_point.h"
#include "device/kernel_trace.h"
#include "engine/commands.h"
#include "engine/composition.h"
#include "engine/dry_run.h"
#include "engine/end_in_time.h"
#include "engine/known_error.h"
#include "engine/open_run.h"
#include "engine/start_run.h"
#include "engine/target_fit.h"
#include "engine/train_report.h"
#include "engine/training_setup.h"
#include "engine/trusted_programs.h"
#include "history/bundle_config.h"
#include "lanes/step_runner.h"
#include "nissa/log.h"
#include "storage/real_file_system.h"
#include "tolaria/epoch_loop.h"
#include "tolaria/summary.h"

namespace esper::engine {
namespace {

using config::RunConfig;
using nlohmann::ordered_json;

std::string new_path(const TrainRequest& request, const RunConfig& config) {
  const auto now = static_cast<std::uint64_t>(base::Clock().wall().count());
  if (!request.run.folder.empty()) return request.run.folder;
  return tolaria::new_run_path(storage::real_file_system(), config.runs_dir, config.name, now);
}

ordered_json summary_of(Composition& composition, const tolaria::RunOutcome& outcome, const OpenRun& open,
                        const std::string& esper) {
  const tolaria::Run& run = composition.run();
  auto summary = tolaria::summarize(run, outcome, open.folder.path);
  summary["ledger"] = tolaria::summarize_ledger(run.ledger, run.facts.clock);
  summary["telemetry"] = composition.telemetry_counts();
  summary["version"] = esper;
  return summary;
}

// The summary of a run that ends with this error, which its caller reports with the run's folder.
[[noreturn]] void fail(Composition& composition, const OpenRun& open, const std::exception& error,
                       const std::string& esper) {
  const auto known = known_error(error);
  const std::string reason = known ? known->what() : error.what();
  const base::ExitCode code = exit_code_of(error);
  const tolaria::RunOutcome outcome{tolaria::RunOutcome::Kind::kFailed, 0, reason, {}, code};
  try {
    publish_summary(open.files, open.folder, summary_of(composition, outcome, open, esper));
  } catch (const std::exception& problem) {
    nissa::log::warning(std::string("no summary.json: ") + problem.what());
  }
  if (!known || dynamic_cast<const base::ConfigError*>(&error) != nullptr) throw;
  throw base::Error(code, reason + "\nrun folder: " + open.folder.path);
}

tolaria::RunOutcome run_epochs(Composition& composition, const OpenRun& open, const std::string& esper) {
  try {
    tolaria::LiveChanges changes(open.files, open.folder.path, composition.changeable());
    composition.run().changes = &changes;
    return tolaria::run_epochs(composition.run());
  } catch (const std::exception& error) {
    composition.abandon(error);  // saves what can be saved, which has deadlines of its own
    end_in_time(composition.run().facts.config, error);
    publish_trace(open.files, open.folder, composition.run().ledger);
    fail(composition, open, error, esper);
  }
}

struct FinishedRun {
  tolaria::RunOutcome outcome;
  ordered_json summary;
  std::unique_ptr<Composition> composition;  // whose end may have to wait for its threads
};

// A signal came when the run was to go back.
tolaria::RunOutcome interrupted_on_the_way() {
  const int signal = base::Interrupt::requested();
  return {
      tolaria::RunOutcome::Kind::kInterrupted,
      signal,
      fmt::format("interrupted by signal {}; continue from the newest checkpoint with esper train --resume", signal),
      {}};
}

// The newest bundle. It may be of an earlier bad step: a run keeps the first few, and one may fail to be written.
void name_bundle(const OpenRun& open, tolaria::RunOutcome& outcome) {
  if (outcome.kind != tolaria::RunOutcome::Kind::kDiverged) return;
  try {
    const std::string bundle = history::newest_bundle(open.files, open.folder.path);
    if (!bundle.empty()) outcome.reason += "; to run the step of its newest bundle again: esper repro " + bundle;
  } catch (const base::IoError& error) {
    nissa::log::warning(std::string("the bundles cannot be listed: ") + error.what());
  }
}

// Trains to the end, or to a reason to stop.
FinishedRun train(const TrainRequest& request, TrainingSetup& setup, const OpenRun& open,
                  std::unique_ptr<Composition> begun) {
  auto composed = std::move(begun);
  RestartState restart;
  std::optional<device::KernelTrace> kernels;
  if (request.trace) composed->run().records.kernel_trace = &kernels.emplace(setup.device);
  auto outcome = run_epochs(*composed, open, request.esper);
  while (outcome.restart && base::Interrupt::requested() == 0) {
    composed = restart_run(request, setup, open, std::move(composed), outcome, restart);
    if (kernels) composed->run().records.kernel_trace = &*kernels;
    outcome = run_epochs(*composed, open, request.esper);
  }
  if (outcome.restart) outcome = interrupted_on_the_way();
  end_in_time(setup.config, static_cast<int>(tolaria::exit_code_of(outcome)),
              "the run in " + open.folder.path + " is over");
  name_bundle(open, outcome);
  composed->finish(outcome);
  if (kernels) publish_kernel_trace(open.files, open.folder, *kernels);
  publish_trace(open.files, open.folder, composed->run().ledger);
  auto summary = summary_of(*composed, outcome, open, request.esper);
  publish_summary(open.files, open.folder, summary);
  return {outcome, std::move(summary), std::move(composed)};
}

}  // namespace

int run(const TrainRequest& request) {
  base::Interrupt interrupt;
  if (request.trace) device::silence_kineto();
  const RunConfig& config = request.job.config;
  const bool resuming = !request.resume.empty();
  if (request.job.trust_program && !request.dry_run && config.policy.asks(config::PolicyKind::kProcess)) {
    trust_program(config.policy.command);
  }
  if (request.job.trust_data_program && config.data.kind == config::DataKind::kProcess) {
    trust_program(config.data.command);
  }
  std::optional<OpenRun> open;
  if (resuming) open.emplace(open_run(request.resume));
  TrainingSetup setup = set_up(config, request.job.cache_dir, resuming ? "esper train --resume " + request.resume : "");
  lanes::check_lane(config.step, setup.device);
  if (!resuming) {
    begin_with_weights(setup);
    const auto doubt = doubt_of_targets(config, setup.data.train);
    if (!doubt.empty()) nissa::log::warning(doubt);
  }
  if (request.dry_run) {
    print_sizes(setup, request, open ? &*open : nullptr);
    return 0;
  }
  Policy policy = make_policy(config, request.job.cache_dir);
  if (!resuming) open.emplace(create_run(new_path(request, config), config, interrupt));
  auto composition = compose(request, setup, *open, std::move(policy));

  base::fault::signal_point("tolaria.starting");
  if (!resuming) end_if_interrupted(open->folder.path);
  interrupt.begin_saving();
  const auto [outcome, summary, composed] = train(request, setup, *open, std::move(composition));
  for (const auto& point : base::fault::unfired()) nissa::log::warning(base::fault::unfired_text(point));
  interrupt.end_saving();
  // One that came after training had ended, with everything saved.
  const int signal = base::Interrupt::requested();
  if (signal != 0 && reached_its_end(outcome)) return 128 + signal;
  print_outcome(summary, outcome, request.job.json ? OutcomeFormat::kJson : OutcomeFormat::kText);
  return static_cast<int>(tolaria::exit_code_of(outcome));
}

}  // namespace esper::engine
