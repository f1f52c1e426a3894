// `esper train`: from a run file, or a run folder to go on with, to a finished run.

#include <unistd.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/ledger/chrome_trace.h"
#include "base/quantity.h"
#include "base/text/printable.h"
#include "base/text/standard_output.h"
#include "base/text/text_outlet.h"
#include "config/write.h"
#include "engine/commands.h"
#include "engine/composition.h"
#include "engine/workbench.h"
#include "lanes/step_runner.h"
#include "nissa/log.h"
#include "storage/atomic_publish.h"
#include "storage/confined_file_system.h"
#include "storage/real_file_system.h"
#include "tolaria/epoch_loop.h"
#include "tolaria/report/report.h"
#include "tolaria/run/run_folder.h"
#include "tolaria/summary.h"

namespace esper::engine {
namespace {

using base::FileSystem;
using base::write_json;
using base::write_line;
using config::RunConfig;
using nlohmann::ordered_json;
using tolaria::RunFolder;

std::string new_path(const TrainRequest& request, const RunConfig& config) {
  const auto now = static_cast<std::uint64_t>(base::Clock().wall().count());
  if (!request.run.folder.empty()) return request.run.folder;
  return tolaria::new_run_path(storage::real_file_system(), config.runs_dir, config.name, now);
}

int dry_run(const Workbench& bench, const TrainRequest& request) {
  std::int64_t parameters = 0, state_bytes = 0;
  for (const auto& group : bench.model->network.parameter_groups()) {
    for (const auto& parameter : group.parameters) parameters += parameter.tensor.numel();
  }
  for (const auto& tensor : step::all_tensors(*bench.model, bench.device))
    state_bytes += static_cast<std::int64_t>(tensor.tensor.nbytes());
  const ordered_json plan = {{"device", bench.device.str()},
                             {"train_samples", data::num_samples(bench.data.train)},
                             {"validation_samples", data::num_samples(bench.data.validation)},
                             {"steps_per_epoch", (batches_per_epoch(bench) + bench.config.step.accumulation - 1) /
                                                     bench.config.step.accumulation},
                             {"epochs", bench.config.epochs},
                             {"parameters", parameters},
                             {"checkpoint_bytes", state_bytes}};
  if (request.job.json) {
    write_json(plan);
  } else {
    for (const auto& [key, value] : plan.items())
      write_line(key + ": " + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return 0;
}

// "loss 0.3911, accuracy 0.9005"
std::string figures_text(const ordered_json& figures) {
  char text[80];
  std::snprintf(text, sizeof text, "loss %.4f, accuracy %.4f", figures["loss"].get<double>(),
                figures["accuracy"].get<double>());
  return text;
}

std::string outcome_text(const ordered_json& summary, const TrainRequest& request) {
  if (request.job.json) return base::json_text(summary);
  using base::Length;
  const Length epochs{summary["epochs"].get<std::int64_t>(), Length::Unit::kEpochs};
  const Length steps{summary["steps"].get<std::int64_t>(), Length::Unit::kSteps};
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, ", %.1f s; ", summary["wall_s"].get<double>());
  const auto& validation = summary["validation"];
  std::string text = summary["status"].get<std::string>() + ": " + to_string(epochs) + ", " + to_string(steps) +
                     seconds +
                     (validation["loss"].is_null() ? "not validated yet" : "validation " + figures_text(validation));
  if (const auto& best = summary["best"]; !best.is_null()) {
    text += "\nbest epoch: " + best["epoch"].dump() + ", validation " + figures_text(best);
  }
  if (const auto reason = summary["reason"].get<std::string>(); !reason.empty()) {
    text += "\nreason: " + base::printable_line(reason);
  }
  return text + "\nrun folder: " + base::printable_line(summary["run_dir"].get<std::string>()) + "\n";
}

bool reached_its_end(const tolaria::RunOutcome& outcome) {
  using Kind = tolaria::RunOutcome::Kind;
  return outcome.kind == Kind::kDone || outcome.kind == Kind::kEarlyStopped;
}

// How the run ended, on both streams. Where it did not reach its end, the exit status says so whoever reads standard
// output: after SIGHUP the terminal is gone, and a pipe may have no reader or one that waits.
void report_outcome(const ordered_json& summary, const tolaria::RunOutcome& outcome, const TrainRequest& request) {
  using Kind = tolaria::RunOutcome::Kind;
  const bool failed = outcome.kind == Kind::kDiverged || outcome.kind == Kind::kNotSaved;
  if (failed) base::print_failure(outcome.reason + "\nrun folder: " + summary["run_dir"].get<std::string>());
  const std::string text = outcome_text(summary, request);
  if (reached_its_end(outcome)) return base::write_output(text);
  base::TextOutlet(STDOUT_FILENO).write(text);
}

void publish_summary(FileSystem& files, const RunFolder& folder, const ordered_json& summary) {
  try {
    // Paths may hold any bytes; JSON may not.
    const auto text = summary.dump(2, ' ', false, ordered_json::error_handler_t::replace);
    storage::publish_file(files, folder.summary(), storage::bytes_of(text + "\n"));
  } catch (const base::IoError& error) {
    nissa::log::warning(std::string("summary.json could not be written: ") + error.what());
  }
}

void publish_trace(FileSystem& files, const RunFolder& folder, tolaria::Run& run) {
  if (!run.ledger.spans()) return;
  run.ledger.settle();
  try {
    storage::publish_file(files, folder.trace(), storage::bytes_of(base::chrome_trace(run.ledger, run.run_id)));
  } catch (const base::IoError& error) {
    nissa::log::warning(std::string("trace.json could not be written: ") + error.what());
  }
}

tolaria::RunOutcome run_epochs(Composition& composition, FileSystem& files, const RunFolder& folder) {
  try {
    return tolaria::run_epochs(composition.run());
  } catch (const std::exception& error) {
    composition.abandon(error);
    publish_trace(files, folder, composition.run());
    throw;
  }
}

// Never destroyed: a checkpoint writer whose disk hangs is left behind at the end, and may go on with it.
FileSystem& confine(const std::string& run_folder) {
  static auto* const kept = new std::deque<storage::ConfinedFileSystem>;
  return kept->emplace_back(run_folder, storage::Owner::kAnyone);
}

// What was changed with --set on a resumed run is kept; a full disk keeps the run from nothing.
void keep_config(FileSystem& files, const RunFolder& folder, const RunConfig& config) {
  try {
    storage::publish_file(files, folder.config(), storage::bytes_of(config::resolved_yaml(config)));
  } catch (const base::IoError& error) {
    if (!error.out_of_space()) throw;
    nissa::log::warning(std::string("config.yaml keeps its earlier contents: ") + error.what());
  }
}

}  // namespace

int run(const TrainRequest& request) {
  base::Interrupt interrupt;
  const bool resuming = !request.resume.empty();
  std::optional<RunFolder> folder;
  FileSystem* confined = nullptr;
  if (resuming) {
    confined = &confine(request.resume);
    folder = tolaria::open_run_folder(*confined, request.resume);
  }
  const RunConfig config = request.job.config;

  Workbench bench = set_up(config, request.job.cache_dir, resuming ? "esper train --resume " + request.resume : "");
  lanes::check_lane(config.step, bench.device);
  if (request.dry_run) return dry_run(bench, request);
  if (!resuming) {
    const auto path = new_path(request, config);
    confined = &confine(path);
    folder = tolaria::create_run_folder(*confined, path, config::resolved_yaml(config));
  }
  FileSystem& files = *confined;
  Composition composition(bench, *folder, files, request.run.quiet ? Console::kNone : Console::kAsConfigured);
  composition.keep_time(request.run.started, request.trace ? Trace::kOn : Trace::kOff);
  if (resuming) {
    composition.restore(*folder);
    keep_config(files, *folder, config);
  }
  composition.start(*folder, resuming ? Start::kResumed : Start::kNew);

  interrupt.begin_saving();
  const auto outcome = run_epochs(composition, files, *folder);
  auto summary = tolaria::summarize(composition.run(), outcome, folder->path);
  composition.finish(outcome);
  publish_trace(files, *folder, composition.run());
  summary["ledger"] = tolaria::summarize_ledger(composition.run());
  summary["telemetry"] = composition.telemetry_counts();
  publish_summary(files, *folder, summary);
  interrupt.end_saving();
  // One that came after training had ended, with everything saved.
  const int signal = base::Interrupt::requested();
  if (signal != 0 && reached_its_end(outcome)) return 128 + signal;
  report_outcome(summary, outcome, request);
  return static_cast<int>(tolaria::exit_code_of(outcome));
}

}  // namespace esper::engine
