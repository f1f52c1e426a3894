#include "tolaria/epoch_loop.h"

#include <torch/types.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/text/rounding.h"
#include "device/cuda_table.h"
#include "device/profiler.h"
#include "kasmina/topology.h"
#include "lanes/step_runner.h"
#include "leyline/telemetry.h"
#include "step/probe.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/growth/good_state.h"
#include "tolaria/growth/growth.h"
#include "tolaria/report/report.h"
#include "tolaria/run/batch_source.h"
#include "tolaria/run/saving.h"

namespace esper::tolaria {

using base::Interrupt;
using base::milliseconds;
using lanes::GrowthOutlook;
using lanes::likely_changes;
using lanes::RunnerServices;
using lanes::StepRunner;
using step::Microbatch;
using step::probe_attribution;
using step::read_metrics;
using step::set_learning_rate;
using step::StepMetrics;

namespace {

using base::LedgerScope;
using base::Owner;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

StepMetrics epoch_metrics(Run& run) {
  const LedgerScope reading(run.ledger, Owner::kTelemetry);
  return read_metrics(run.model.state);
}

// How many steps of this shape the run still has: one an epoch where it is the epoch's last, which may be shorter.
std::int64_t steps_left(const Run& run, std::span<const Microbatch> microbatches) {
  const std::int64_t epochs_left = run.config.epochs - run.progress.epoch;
  const bool whole = static_cast<int>(microbatches.size()) == run.config.step.accumulation &&
                     microbatches.back().inputs.size(0) == run.config.data.batch_size;
  return whole ? epochs_left * run.steps_per_epoch() : epochs_left;
}

enum class Passage { kFinished, kInterrupted };

// From the cursor to the end of the epoch.
Passage train_epoch(Run& run, BatchSource& batches, StepRunner& runner, EpochTimes& times) {
  const LedgerScope computing(run.ledger, Owner::kCompute);
  run.display->phase = leyline::Phase::kTraining;
  const auto begin = run.clock.now();
  const auto wait_before = run.ledger.so_far(Owner::kLoaderWait);
  batches.begin_epoch();
  std::vector<Microbatch> microbatches;
  for (batches.next(microbatches); !microbatches.empty(); batches.next(microbatches)) {
    const bool watched = runner.is_watching();
    const auto step_begin = run.step_times || watched ? run.clock.now() : base::Duration{};
    run.ledger.begin_step();
    set_learning_rate(run.model.state, next_learning_rate(run));
    probe_attribution(run.model, microbatches);
    runner.step(microbatches, {run.progress.step, steps_left(run, microbatches)});
    run.ledger.end_step(run.progress.step);
    if (watched) runner.note_step_time(run.clock.now() - step_begin);
    if (run.step_times) run.step_times->push_back({step_begin, run.clock.now()});
    for (const auto& [inputs, targets] : microbatches) times.samples += inputs.size(0);
    run.progress.batch += static_cast<std::int64_t>(microbatches.size());
    ++run.progress.step;
    run.display->step.store(static_cast<std::uint64_t>((run.progress.batch + run.config.step.accumulation - 1) /
                                                       run.config.step.accumulation),
                            std::memory_order_relaxed);
    if (Interrupt::requested() != 0) return Passage::kInterrupted;
    if (save_is_due_after_step(run)) save(run);
  }
  if (run.device.is_cuda()) device::cuda().synchronize(run.device.index());
  runner.note_epoch();
  run.lanes = runner.figures();
  times.train_ms = milliseconds(run.clock.now() - begin);
  times.loader_wait_ms = milliseconds(run.ledger.so_far(Owner::kLoaderWait) - wait_before);
  times.copies = batches.take_times();
  return Passage::kFinished;
}

std::map<std::string, GradientShare> gradient_shares(const StepMetrics& metrics,
                                                     const std::map<std::string, GradientShare>& before) {
  double sum = 0;
  for (const auto& [id, norm] : metrics.group_gradient_norms) sum += norm;
  std::map<std::string, GradientShare> shares;
  for (const auto& [id, norm] : metrics.group_gradient_norms) {
    if (id == kasmina::kHostOwner || sum <= 0) continue;
    const auto known = before.find(id);
    const double share = norm / sum;
    shares[id] = {share, known == before.end() ? 0 : share - known->second.share};
  }
  return shares;
}

// Takes the epoch's figures into the run's progress; true if validation is better than ever.
bool note_figures(Run& run, const StepMetrics& metrics, const Measurements& measured) {
  RunProgress& progress = run.progress;
  progress.train = {metrics.loss, metrics.accuracy};
  progress.validation = {measured.running.loss, measured.running.accuracy};
  progress.loss.add(metrics.loss);
  progress.gradient_norm.add(metrics.gradient_norm);
  progress.gradient_shares = gradient_shares(metrics, progress.gradient_shares);
  const double loss = measured.running.loss;
  const bool clearly_better =
      !progress.patience_loss || loss < *progress.patience_loss - run.config.training.early_stop_min_delta;
  progress.epochs_without_better = clearly_better ? 0 : progress.epochs_without_better + 1;
  if (clearly_better) progress.patience_loss = loss;
  const bool best = !progress.best || loss < progress.best->loss;
  if (best) progress.best = BestEpoch{progress.epoch + 1, loss, measured.running.accuracy};
  return best;
}

std::string divergence(const StepMetrics& metrics, const Measurements& measured) {
  if (!std::isfinite(metrics.loss)) return "the training loss is not finite";
  if (!std::isfinite(measured.running.loss)) return "the validation loss is not finite";
  return {};
}

// What a growing seed did is undone, and then there is nothing to say.
std::string divergence_or_undo(Run& run, GoodState& good_state, StepMetrics& metrics, Measurements& measured) {
  std::string reason = divergence(metrics, measured);
  if (reason.empty()) reason = good_state.explosion(measured);
  if (reason.empty() || !good_state.put_back(run, reason, metrics, measured)) return reason;
  return divergence(metrics, measured);
}

RunOutcome diverged(Run& run, const std::string& reason) {
  run.events.push_back(event("tolaria.diverged"_event, Level::kCritical,
                             {{"epoch", std::to_string(run.progress.epoch + 1)},
                              {"step", std::to_string(run.progress.step)},
                              {"reason", reason}}));
  finish_saves(run);
  return {RunOutcome::Kind::kDiverged, 0, reason + "; try a lower training.optimizer.lr or training.clip_norm"};
}

RunOutcome interrupted(Run& run) {
  const int signal = Interrupt::requested();
  run.events.push_back(event("tolaria.interrupted"_event, Level::kWarning,
                             {{"signal", std::to_string(signal)},
                              {"epoch", std::to_string(run.progress.epoch)},
                              {"step", std::to_string(run.progress.step)}}));
  if (!save_last_state(run))
    return {RunOutcome::Kind::kNotSaved, signal, "interrupted, and the state could not be saved"};
  return {RunOutcome::Kind::kInterrupted, signal, "interrupted by signal " + std::to_string(signal) + " after saving"};
}

// The last epoch's end has nothing to prepare for.
void prepare_ahead(const Run& run, StepRunner& runner) {
  const auto epochs_left = static_cast<std::int64_t>(run.config.epochs) - run.progress.epoch;
  const auto limit = static_cast<std::size_t>(run.config.step.compile.ahead);
  if (epochs_left < 2 || limit == 0 || !run.twin) return;
  const GrowthOutlook outlook{run.model.network.export_seed_states(), run.model.network.export_slots(),
                              run.config.growth.max_seeds, run.consultation.state()};
  runner.prepare(likely_changes(outlook, limit, run.forecast), epochs_left * run.steps_per_epoch());
}

bool should_stop_early(const Run& run) {
  const auto patience = static_cast<std::uint32_t>(run.config.training.early_stop_epochs);
  return patience > 0 && run.progress.epochs_without_better >= patience;
}

RunOutcome finished(Run& run) {
  RunOutcome outcome;
  if (run.progress.epoch < static_cast<std::uint32_t>(run.config.epochs)) {
    outcome = {RunOutcome::Kind::kEarlyStopped, 0, "validation loss no longer improves"};
    run.events.push_back(
        event("tolaria.early_stop"_event, Level::kInfo, {{"epoch", std::to_string(run.progress.epoch)}}));
  }
  if (!save_last_state(run)) return {RunOutcome::Kind::kNotSaved, 0, "the last state could not be saved"};
  return outcome;
}

RunnerServices runner_services(Run& run) {
  RunnerServices services;
  services.desk = run.desk;
  services.ledger = &run.ledger;
  services.clock = run.clock;
  services.tell = [&run](leyline::TelemetryEvent told) { run.events.push_back(std::move(told)); };
  services.note = [&run](std::string note) { run.writer.record(std::move(note)); };
  services.log = run.lane_log;
  services.twin = run.twin;
  services.growth = run.config.growth;
  services.send = [&run] { report_events(run); };
  return services;
}

}  // namespace

RunOutcome run_epochs(Run& run) {
  run.topology = kasmina::topology_of(run.model.network.save_topology());
  run.ledger.start_up_is_over();
  if (run.device.is_cuda()) run.ledger.set_hooks(device::nvtx_ranges());
  run.display->epochs = static_cast<std::uint32_t>(run.config.epochs);
  run.display->steps = static_cast<std::uint64_t>(run.steps_per_epoch());
  if (run.progress.step > 0) run.saved = state_of(run);  // it comes from a checkpoint
  StepRunner runner(run.model, run.config.step, run.device, runner_services(run));
  BatchSource batches(run, look_ahead_of(run));
  GoodState good_state;
  if (run.progress.step > 0) good_state.keep(run);
  while (run.progress.epoch < static_cast<std::uint32_t>(run.config.epochs) && !should_stop_early(run)) {
    run.display->epoch = run.progress.epoch + 1;
    const base::LedgerEpoch epoch(run.ledger, run.progress.epoch + 1);
    EpochTimes times;
    if (train_epoch(run, batches, runner, times) == Passage::kInterrupted) return interrupted(run);

    run.display->phase = leyline::Phase::kValidating;
    const auto hook_begin = run.clock.now();
    Measurements measured = measure_epoch(run);
    if (measured.interrupted) return interrupted(run);
    StepMetrics metrics = epoch_metrics(run);
    if (const auto reason = divergence_or_undo(run, good_state, metrics, measured); !reason.empty()) {
      return diverged(run, reason);
    }

    const bool better = note_figures(run, metrics, measured);
    const GrowthReport growth = grow(run, metrics, measured, times);
    runner.take_structure(run.progress.step);
    good_state.keep(run);
    times.hook_ms = milliseconds(run.clock.now() - hook_begin);

    if ((better && run.config.checkpoint.keep_best) || save_is_due_after_epoch(run)) save(run);
    report_epoch(run, metrics, measured, times, growth);
    prepare_ahead(run, runner);
    if (Interrupt::requested() != 0) return interrupted(run);
  }
  return finished(run);
}

}  // namespace esper::tolaria
