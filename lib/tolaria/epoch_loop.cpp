#include "tolaria/epoch_loop.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/memory_reserve.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"
#include "device/facts.h"
#include "device/profiler.h"
#include "device/utilization.h"
#include "step/finite_watch.h"
#include "tolaria/epoch_trainer.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/growth/growth.h"
#include "tolaria/report/epoch_reporter.h"
#include "tolaria/run/held_state.h"
#include "tolaria/safety/run_safety.h"
#include "tolaria/safety/step_bundles.h"

namespace esper::tolaria {
namespace {

using base::Interrupt;
using base::LedgerScope;
using base::Owner;
using step::StepMetrics;

std::string why_diverged(const StepMetrics& metrics, const Measurements& measured) {
  if (metrics.steps == 0) return "no step of the epoch could be trained; tolaria.step_skipped says why";
  if (!std::isfinite(metrics.loss)) return "the training loss is not finite";
  if (!std::isfinite(measured.running.loss)) return "the validation loss is not finite";
  return {};
}

// With the first tensor that is not finite, where one is.
std::string divergence(const StepMetrics& metrics, const Measurements& measured, const step::Model& model) {
  std::string reason = why_diverged(metrics, measured);
  if (reason.empty()) return reason;
  const auto tensors = step::all_tensors(model, model.state.device);
  if (const auto tensor = step::first_not_finite(tensors, {}); !tensor.empty()) reason += "; nor is " + tensor;
  return reason;
}

LossVerdict judge(const Measurements& measured, const Run& run) {
  if (!run.facts.config.safety.watch_loss) return {};
  return judge_loss({measured.running.loss, measured.running.score, run.facts.num_classes}, run.progress.safety);
}

class EpochLoop {
 public:
  explicit EpochLoop(Run& run)
      : run_(run),
        forward_(run.model, run.facts.config.step, run.facts.device,
                 [&run](leyline::TelemetryEvent event) { run.outbox.emit(std::move(event)); }),
        evaluation_{run.model, run.data.validation, run.data.train,
                    run.facts, run.ledger,          run.facts.device.is_cuda() ? &forward_ : nullptr},
        log_(run.model, run.progress, run.outbox, run.saver),
        end_(run.facts, run.progress, run.saver, run.outbox),
        safety_(evaluation_, run.progress, run.saver, run.outbox, end_),
        trainer_(run, safety_.good_state()),
        growth_(evaluation_, run.policy, log_, run.saver, run.data.probe, run.at_the_end),
        reporter_(run.facts, run.progress, run.model, run.outbox, run.ledger),
        held_(run.progress, run.saver, run.outbox),
        utilization_(device::pci_address_of(run.facts.device), run.facts.clock) {}

  RunOutcome run();

 private:
  // An error that ends it saves the newest good state.
  RunOutcome run_or_save();
  RunOutcome run_to_the_end();
  // Between two epochs.
  void follow_changes();
  // Empty: the run continues.
  std::optional<RunOutcome> run_epoch();
  Measurements measure();
  StepMetrics read_metrics();
  // Empty: the epoch is good, or is now, without what its growing seeds did to it.
  std::optional<RunOutcome> undo_trouble(StepMetrics& metrics, Measurements& measured);
  // In an epoch that is not over; one that would have been undone is saved as it began.
  RunOutcome interrupted();
  RunSafety::Decision decision() const {
    return growth_.figures().without_decision ? RunSafety::Decision::kMissing : RunSafety::Decision::kMade;
  }
  // The state that the epoch began with was put back: trains up to the bad step once more, and puts it back again.
  void write_bundle(StepBundles::Kept kept);
  // Whether the end of the epoch may be interrupted.
  bool may_be_interrupted() const;
  EpochEnd grow(const EpochResults& results);

  const config::RunConfig& config() const { return run_.facts.config; }

  Run& run_;
  lanes::EvaluationForward forward_;
  Evaluation evaluation_;
  LifecycleLog log_;
  RunEnd end_;
  RunSafety safety_;
  EpochTrainer trainer_;
  Growth growth_;
  EpochReporter reporter_;
  HeldState held_;
  device::UtilizationMeter utilization_;
};

RunOutcome EpochLoop::run() {
  RunOutcome outcome = run_or_save();
  try {
    reporter_.report_safety(safety_.good_state().figures(), safety_.emergency_figures());
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // The outcome is worth more than the last counts.
  }
  return outcome;
}

RunOutcome EpochLoop::run_or_save() {
  try {
    return run_to_the_end();
  } catch (const base::Error& error) {
    if (error.code() != base::ExitCode::kData) safety_.save_good_state();  // else the last step was a whole one
    throw;
  } catch (...) {
    safety_.save_good_state();
    throw;
  }
}

RunOutcome EpochLoop::run_to_the_end() {
  safety_.begin(run_.came_back);
  if (const auto outcome = safety_.halted()) return *outcome;
  growth_.ask_again();
  for (follow_changes(); !end_.is_last_epoch_over() && !end_.should_stop_early(); follow_changes()) {
    if (const auto outcome = run_epoch()) return *outcome;
  }
  return end_.finish(end_.is_last_epoch_over() ? RunEnd::At::kLastEpoch : RunEnd::At::kNoImprovement);
}

void EpochLoop::follow_changes() {
  if (run_.changes == nullptr) return;
  run_.changes->begin_epoch();
  run_.display.epochs = static_cast<std::uint32_t>(config().epochs);
  run_.outbox.flush();
}

std::optional<RunOutcome> EpochLoop::run_epoch() {
  run_.display.epoch = run_.progress.epoch + 1;
  base::hold_memory_reserve();
  const base::LedgerEpoch epoch(run_.ledger, run_.progress.epoch + 1);
  auto trained = trainer_.train();
  for (; !trained && trainer_.bad_step(); trained = trainer_.train()) {
    if (const auto outcome = safety_.react(*trainer_.bad_step())) return outcome;
  }
  if (!trained) return interrupted();
  trained->utilization = utilization_.read();

  const auto hook_begin = run_.facts.clock.now();
  const std::size_t events = run_.outbox.waiting().size();  // who measures again reports what comes after these again
  Measurements measured = measure();
  if (measured.interrupted) {
    run_.outbox.keep_first(events);
    return interrupted();
  }
  if (may_be_interrupted()) held_.hold(events);
  StepMetrics metrics = read_metrics();
  trainer_.record_epoch_end(metrics, *trained);
  if (const auto outcome = undo_trouble(metrics, measured)) return outcome;
  const LossVerdict verdict = judge(measured, run_);
  if (verdict.kind == LossVerdict::Kind::kBad) return safety_.fail_epoch(verdict.reason);

  const auto best_before = run_.progress.best;
  bool better = record_epoch(run_.progress, metrics, figures_of(measured.running), goals_of(config()));
  const EpochResults results{metrics, measured, *trained, end_.is_last_epoch()};
  if (grow(results) == EpochEnd::kInterrupted) return end_.interrupted();
  if (const auto& settled = growth_.settled_validation()) {
    better = replace_validation(run_.progress, *settled, best_before, config().checkpoint.best_metric);
  }
  trainer_.take_structure();
  forward_.take_structure();
  safety_.end_epoch(verdict, measured, decision());
  const double hook_ms = base::milliseconds(run_.facts.clock.now() - hook_begin);

  const bool is_save_due =
      (better && config().checkpoint.keep_best) || run_.saver.is_due_after_epoch() || safety_.needs_checkpoint();
  if (is_save_due && safety_.is_worth_saving()) {
    run_.saver.save();
  } else {
    run_.saver.report_results();
  }
  safety_.check_times(trained->train_ms, hook_ms);
  reporter_.report(results, {run_.policy.figures(), growth_.figures(), safety_.good_state().figures(),
                             safety_.emergency_figures(), run_.saver.figures(), hook_ms});
  trainer_.prepare_structures();
  if (Interrupt::requested() != 0) return end_.interrupted();
  return safety_.halted();
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
std::optional<RunOutcome> EpochLoop::undo_trouble(StepMetrics& metrics, Measurements& measured) {
  GoodState& good_state = safety_.good_state();
  const std::string& spoilt = trainer_.spoilt();
  auto bad_step = spoilt.empty() || run_.bundles == nullptr ? std::nullopt : run_.bundles->let_go();
  std::string reason = spoilt.empty() ? divergence(metrics, measured, run_.model) : spoilt;
  if (reason.empty()) reason = good_state.loss_explosion(measured);
  if (reason.empty()) return std::nullopt;
  if (auto outcome = safety_.go_before_epoch(reason)) return outcome;
  if (!good_state.has_growing_seeds() || !good_state.put_back(reason)) return safety_.fail_epoch(reason);
  held_.hold_restored(good_state.kept_progress());
  if (bad_step) write_bundle(std::move(*bad_step));
  if (!good_state.measure_again(reason, metrics, measured)) {
    held_.go_back();
    safety_.return_to_good_state();
    return end_.interrupted();
  }
  reason = divergence(metrics, measured, run_.model);
  return reason.empty() ? std::nullopt : std::optional(safety_.fail_epoch(reason));
}

RunOutcome EpochLoop::interrupted() {
  if (!trainer_.spoilt().empty()) safety_.return_to_good_state();
  return end_.interrupted();
}

void EpochLoop::write_bundle(StepBundles::Kept kept) {
  GoodState& good_state = safety_.good_state();
  RunProgress end = run_.progress;
  const std::int64_t step = kept.facts.step;
  if (safety_.return_to_good_state() && trainer_.train_up_to(step)) {
    run_.bundles->take_over(std::move(kept));
    run_.bundles->come_to(step);
  }
  run_.bundles->let_go();  // of another step that went wrong on the way
  good_state.restore();
  run_.progress = std::move(end);
}

bool EpochLoop::may_be_interrupted() const {
  const bool settles = end_.may_be_last_epoch() && growth_.may_settle();
  return settles || growth_.may_train_control(run_.progress);
}

EpochEnd EpochLoop::grow(const EpochResults& results) {
  const LedgerScope deciding(run_.ledger, Owner::kPolicy);
  EpochEnd end = EpochEnd::kInterrupted;
  base::fault::signal_point("tolaria.deciding");
  safety_.good_state().forget();
  try {
    end = growth_.end_epoch(run_.progress, results);
  } catch (...) {
    held_.go_back();
    throw;
  }
  end == EpochEnd::kComplete ? held_.let_go() : held_.go_back();
  return end;
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
