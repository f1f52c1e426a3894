#include "tolaria/epoch_loop.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/interrupt.h"
#include "base/names.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"
#include "device/profiler.h"
#include "leyline/telemetry.h"
#include "tolaria/epoch_trainer.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/growth/growth.h"
#include "tolaria/report/epoch_reporter.h"
#include "tolaria/safety/good_state.h"
#include "tolaria/safety/step_reactions.h"

namespace esper::tolaria {
namespace {

using base::Interrupt;
using base::LedgerScope;
using base::Owner;
using leyline::event;
using leyline::Level;
using step::StepMetrics;
using End = RunOutcome::Kind;
using namespace leyline::literals;

std::string divergence(const StepMetrics& metrics, const Measurements& measured) {
  if (metrics.steps == 0) return "no step of the epoch could be trained";
  if (!std::isfinite(metrics.loss)) return "the training loss is not finite";
  if (!std::isfinite(measured.running.loss)) return "the validation loss is not finite";
  return {};
}

class EpochLoop {
 public:
  explicit EpochLoop(Run& run)
      : run_(run),
        evaluation_{run.model, run.data.validation, run.data.train, run.facts, run.ledger},
        log_(run.model, run.progress, run.outbox, run.saver),
        good_state_(evaluation_, run.progress, run.outbox, when_to_keep(run.facts)),
        reactions_(run.facts, run.progress, good_state_, run.outbox),
        trainer_(run, good_state_),
        growth_(evaluation_, run.policy, log_, run.data.probe, run.at_the_end),
        reporter_(run.facts, run.progress, run.model, run.outbox, run.ledger) {}

  RunOutcome run();

 private:
  // Between two epochs.
  void follow_changes();
  // Empty: the run continues.
  std::optional<RunOutcome> run_epoch();
  Measurements measure();
  StepMetrics read_metrics();
  std::string divergence_or_undo(StepMetrics& metrics, Measurements& measured);
  // Before an end of the epoch that may be interrupted: keeps the run as it is, for a process that goes on from there.
  // events: those in the outbox that stay if it does.
  void hold(std::size_t events);
  // The epoch was undone: that process goes on from where it began, or it would take the exploded state for a good one.
  void hold_restored();
  void let_go();
  void go_back();
  EpochEnd grow(const EpochResults& results);

  // Whether the run ends with the epoch that is not counted yet; known once that was recorded, and before, whether it
  // can.
  bool is_last_epoch() const;
  bool may_be_last_epoch() const;
  bool is_last_epoch_over() const { return run_.progress.epoch >= static_cast<std::uint32_t>(config().epochs); }
  bool should_stop_early() const;
  RunOutcome finish();
  RunOutcome not_saved();
  RunOutcome stop_diverged(const std::string& reason, std::string_view advice = kLowerRateAdvice);
  RunOutcome stop_interrupted();

  const config::RunConfig& config() const { return run_.facts.config; }

  Run& run_;
  Evaluation evaluation_;
  LifecycleLog log_;
  GoodState good_state_;
  StepReactions reactions_;
  EpochTrainer trainer_;
  Growth growth_;
  EpochReporter reporter_;
  struct Held {
    RunProgress progress;
    std::size_t events = 0;  // that wait in the outbox
  };
  std::optional<Held> held_;
};

RunOutcome EpochLoop::run() {
  if (step::first_not_finite(run_.model.state, {}).empty()) good_state_.keep();
  growth_.ask_again();
  for (follow_changes(); !is_last_epoch_over() && !should_stop_early(); follow_changes()) {
    if (const auto outcome = run_epoch()) return *outcome;
  }
  return finish();
}

void EpochLoop::follow_changes() {
  if (run_.changes == nullptr) return;
  run_.changes->begin_epoch();
  run_.display.epochs = static_cast<std::uint32_t>(config().epochs);
  run_.outbox.flush();
}

std::optional<RunOutcome> EpochLoop::run_epoch() {
  run_.display.epoch = run_.progress.epoch + 1;
  const base::LedgerEpoch epoch(run_.ledger, run_.progress.epoch + 1);
  auto trained = trainer_.train();
  for (; !trained && trainer_.bad_step(); trained = trainer_.train()) {
    if (!reactions_.go_back_before(*trainer_.bad_step()))
      return stop_diverged(trainer_.bad_step()->reason, StepReactions::advice_for(*trainer_.bad_step()));
  }
  if (!trained) return stop_interrupted();

  const auto hook_begin = run_.facts.clock.now();
  const std::size_t events = run_.outbox.waiting().size();  // who measures again reports what comes after these again
  Measurements measured = measure();
  if (measured.interrupted) {
    run_.outbox.keep_first(events);
    return stop_interrupted();
  }
  hold(events);
  StepMetrics metrics = read_metrics();
  if (const auto reason = divergence_or_undo(metrics, measured); !reason.empty()) return stop_diverged(reason);

  const auto best_before = run_.progress.best;
  bool better = record_epoch(run_.progress, metrics, figures_of(measured.running), goals_of(config()));
  const EpochResults results{metrics, measured, *trained, is_last_epoch()};
  if (grow(results) == EpochEnd::kInterrupted) return stop_interrupted();
  if (const auto& settled = growth_.settled_validation()) {
    better = replace_validation(run_.progress, *settled, best_before, config().checkpoint.best_metric);
  }
  trainer_.take_structure();
  run_.progress.safety = after_epoch(std::move(run_.progress.safety), run_.progress.step);
  good_state_.keep();
  const double hook_ms = base::milliseconds(run_.facts.clock.now() - hook_begin);

  if ((better && config().checkpoint.keep_best) || run_.saver.is_due_after_epoch()) run_.saver.save();
  reporter_.report(results,
                   {run_.policy.figures(), growth_.figures(), good_state_.figures(), run_.saver.figures(), hook_ms});
  trainer_.prepare_structures();
  if (Interrupt::requested() != 0) return stop_interrupted();
  return std::nullopt;
}

Measurements EpochLoop::measure() {
  run_.display.phase = leyline::Phase::kValidating;
  base::fault::signal_point("tolaria.validating");
  return measure_epoch(evaluation_, run_.progress.epoch + 1, run_.outbox,
                       growth_.needs_samples(run_.progress) ? PerSample::kKept : PerSample::kNotKept);
}

StepMetrics EpochLoop::read_metrics() {
  const LedgerScope reading(run_.ledger, Owner::kTelemetry);
  return step::read_metrics(run_.model.state);
}

// The growing seeds' changes are undone, so there is nothing to report.
std::string EpochLoop::divergence_or_undo(StepMetrics& metrics, Measurements& measured) {
  std::string reason = divergence(metrics, measured);
  if (reason.empty()) reason = good_state_.loss_explosion(measured);
  if (reason.empty() || !good_state_.has_growing_seeds() || !good_state_.put_back(reason)) return reason;
  hold_restored();
  good_state_.measure_again(reason, metrics, measured);
  return divergence(metrics, measured);
}

void EpochLoop::hold(std::size_t events) {
  const bool settles = may_be_last_epoch() && growth_.may_settle();
  if (!settles && !growth_.may_train_control(run_.progress)) return;
  run_.saver.hold();
  held_ = {run_.progress, events};
}

void EpochLoop::hold_restored() {
  if (!held_) return;
  run_.progress = good_state_.kept_progress();
  run_.saver.hold();
  std::swap(run_.progress, held_->progress);
}

void EpochLoop::let_go() {
  run_.saver.release();
  held_.reset();
}

// The model stays where it is: what is saved from now on is what was held.
void EpochLoop::go_back() {
  if (!held_) return;
  run_.progress = std::move(held_->progress);
  run_.outbox.keep_first(held_->events);
  held_.reset();
}

EpochEnd EpochLoop::grow(const EpochResults& results) {
  const LedgerScope deciding(run_.ledger, Owner::kPolicy);
  EpochEnd end = EpochEnd::kInterrupted;
  base::fault::signal_point("tolaria.deciding");
  try {
    end = growth_.end_epoch(run_.progress, results);
  } catch (...) {
    go_back();
    throw;
  }
  end == EpochEnd::kComplete ? let_go() : go_back();
  return end;
}

bool EpochLoop::is_last_epoch() const {
  return run_.progress.epoch + 1 >= static_cast<std::uint32_t>(config().epochs) || should_stop_early();
}

bool EpochLoop::may_be_last_epoch() const {
  const auto patience = static_cast<std::uint32_t>(config().training.early_stop_epochs);
  return is_last_epoch() || (patience > 0 && run_.progress.epochs_without_better + 1 >= patience);
}

bool EpochLoop::should_stop_early() const {
  const auto patience = static_cast<std::uint32_t>(config().training.early_stop_epochs);
  return patience > 0 && run_.progress.epochs_without_better >= patience;
}

RunOutcome EpochLoop::finish() {
  RunOutcome outcome;
  base::fault::signal_point("tolaria.ending");
  if (!is_last_epoch_over()) {
    const auto goal = base::name_of(config().training.early_stop_metric);
    outcome = {End::kEarlyStopped, 0, fmt::format("validation {} no longer improves", goal)};
    run_.outbox.emit(event("tolaria.early_stop"_event, Level::kInfo, {{"epoch", std::to_string(run_.progress.epoch)}}));
  }
  if (!run_.saver.save_last_state()) return not_saved();
  return outcome;
}

// A buffer, like the variance of a normalisation, may overflow while the losses are still finite.
RunOutcome EpochLoop::not_saved() {
  const auto& failure = run_.saver.failure();
  if (failure && failure->not_finite) return stop_diverged(failure->problem);
  return {End::kNotSaved, 0, "the final state could not be saved" + (failure ? ": " + failure->problem : "")};
}

RunOutcome EpochLoop::stop_diverged(const std::string& reason, std::string_view advice) {
  run_.outbox.emit(
      event("tolaria.diverged"_event, Level::kCritical,
            {{"epoch", std::to_string(std::min(run_.progress.epoch + 1, static_cast<std::uint32_t>(config().epochs)))},
             {"step", std::to_string(run_.progress.step)},
             {"reason", reason}}));
  run_.saver.finish();
  return {End::kDiverged, 0, fmt::format("{}; {}", reason, advice)};
}

RunOutcome EpochLoop::stop_interrupted() {
  const int signal = Interrupt::requested();
  run_.outbox.emit(event("tolaria.interrupted"_event, Level::kWarning,
                         {{"signal", std::to_string(signal)},
                          {"epoch", std::to_string(run_.progress.epoch)},
                          {"step", std::to_string(run_.progress.step)}}));
  if (!run_.saver.save_last_state()) {
    return {End::kNotSaved, signal, "interrupted, and the state could not be saved"};
  }
  return {End::kInterrupted, signal, fmt::format("interrupted by signal {} after saving", signal)};
}

}  // namespace

RunOutcome run_epochs(Run& run) {
  run.ledger.start_up_is_over();
  if (run.facts.device.is_cuda()) run.ledger.set_hooks(device::nvtx_ranges());
  run.display.epochs = static_cast<std::uint32_t>(run.facts.config.epochs);
  run.display.steps = static_cast<std::uint64_t>(run.facts.steps_per_epoch());
  return EpochLoop(run).run();
}

}  // namespace esper::tolaria
