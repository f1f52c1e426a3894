#include "tolaria/epoch_loop.h"

#include <torch/types.h>

#include <exception>
#include <new>
#include <utility>

#include "base/interrupt.h"
#include "base/memory_reserve.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"
#include "device/facts.h"
#include "device/profiler.h"
#include "device/utilization.h"
#include "tolaria/epoch_trainer.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/growth/growth.h"
#include "tolaria/report/epoch_reporter.h"
#include "tolaria/run/save_schedule.h"
#include "tolaria/safety/epoch_check.h"
#include "tolaria/state/last_epoch.h"

namespace esper::tolaria {
namespace {

using base::Interrupt;
using base::LedgerScope;
using base::Owner;
using step::StepMetrics;

// What the network is measured with: on a GPU by a forward of its own.
struct EvaluationParts {
  explicit EvaluationParts(Run& run)
      : forward(run.model, run.facts.config.step, run.facts.device,
                [&run](leyline::TelemetryEvent event) { run.outbox.emit(std::move(event)); }),
        refs{run.model, run.data.validation, run.data.train,
             run.facts, run.ledger,          run.facts.device.is_cuda() ? &forward : nullptr} {}
  EvaluationParts(const EvaluationParts&) = delete;
  EvaluationParts& operator=(const EvaluationParts&) = delete;

  lanes::EvaluationForward forward;
  Evaluation refs;
};

// What an epoch has come to.
struct Epoch {
  TrainedEpoch trained{};
  Measurements measured{};
  StepMetrics metrics{};
  LossVerdict verdict{};
  bool is_best = false, is_last = false;  // once it is counted
  EpochResults results() const { return {metrics, measured, trained, is_last}; }
};

// Between two epochs.
void follow_changes(Run& run) {
  if (run.changes == nullptr) return;
  run.changes->begin_epoch();
  run.display.epochs = static_cast<std::uint32_t>(run.facts.config.epochs);
  run.outbox.flush();
}

StepMetrics sum_of_steps(Run& run) {
  const LedgerScope reading(run.ledger, Owner::kTelemetry);
  return step::read_metrics(run.model.state);
}

// model: its copy, if there is one of it as it is now.
void save_if_due(Run& run, const Epoch& epoch, const StateCopy* model) {
  const bool is_due = (epoch.is_best && run.facts.config.checkpoint.keep_best) ||
                      is_save_due_after_epoch(run.facts, run.progress, run.model.network);
  if (is_due && !run.progress.safety.is_suspect()) {
    run.saver.save(model);
  } else {
    run.saver.report_results();
  }
}

ConservativeMode::Decision decision_of(const QuestionFigures& questions) {
  using Decision = ConservativeMode::Decision;
  return questions.without_decision ? Decision::kMissing : Decision::kMade;
}

// What keeps the present state from being saved; empty: nothing.
std::string problem_of_state(const EpochTrainer& trainer, const RunSafety& safety) {
  if (const std::string& reason = trainer.nonfinite_reason(); !reason.empty()) return reason;
  const std::string tensor = safety.first_not_finite();
  return tensor.empty() ? "" : tensor + " is not finite";
}

class EpochLoop {
 public:
  explicit EpochLoop(Run& run)
      : run_(run),
        evaluation_(run),
        end_(run.facts, run.progress, run.saver, run.outbox),
        safety_(evaluation_.refs, run.progress, run.saver, run.outbox, end_),
        transaction_(run.progress, run.saver, run.outbox),
        check_(evaluation_.refs, run.progress, safety_, transaction_, end_, run.records.bundles),
        trainer_(run, safety_.good_state()),
        growth_(evaluation_.refs, run.policy, LifecycleLog(run.model, run.progress, run.outbox, run.saver), run.saver,
                run.data.probe, run.at_the_end),
        reporter_(run.facts, run.progress, run.model, run.outbox, run.ledger),
        utilization_(device::pci_address_of(run.facts.device), run.facts.clock) {}

  RunOutcome run();

 private:
  // An error that ends it saves the newest good state.
  RunOutcome run_or_save();
  RunOutcome run_to_the_end();
  // Empty: the run continues. So with the first two of its parts.
  std::optional<RunOutcome> run_epoch();
  std::optional<RunOutcome> train(Epoch& epoch);
  std::optional<RunOutcome> validate(Epoch& epoch);
  // Counts it; the network grows.
  EpochEnd end_epoch(Epoch& epoch);
  Measurements measure();
  // In an epoch that is not over; one that would have been undone is saved as it began.
  RunOutcome interrupted();
  // uncounted: the steps since the last epoch that was counted.
  RunOutcome interrupted_after(const StepMetrics& uncounted);
  // Whether who reports the error may save the present state.
  bool leaves_good_state(const std::exception& error) const noexcept;
  // Whether the end of the epoch may be interrupted.
  bool may_be_interrupted() const;
  EpochEnd grow(const EpochResults& results);

  const config::RunConfig& config() const { return run_.facts.config; }

  Run& run_;
  EvaluationParts evaluation_;
  RunEnd end_;
  RunSafety safety_;
  EpochEndTransaction transaction_;
  EpochCheck check_;
  EpochTrainer trainer_;
  Growth growth_;
  EpochReporter reporter_;
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
  } catch (const std::exception& error) {
    if (!leaves_good_state(error)) safety_.save_good_state();
    if (const auto late = trainer_.late_failure(error)) throw *late;
    throw;
  } catch (...) {
    safety_.save_good_state();
    throw;
  }
}

RunOutcome EpochLoop::run_to_the_end() {
  safety_.begin(run_.restart_report);
  if (const auto outcome = safety_.halted()) return *outcome;
  run_.policy.ask_again();  // what the checkpoint holds
  const RunProgress& progress = run_.progress;
  // Where patience was lowered meanwhile the next epoch may end the run: seeds are settled at an epoch's end.
  const auto is_over = [&] {
    return is_last_epoch_over(config(), progress) || (should_stop_early(config(), progress) && !growth_.may_settle());
  };
  for (follow_changes(run_); !is_over(); follow_changes(run_)) {
    if (const auto outcome = run_epoch()) return *outcome;
  }
  return end_.finish(is_last_epoch_over(config(), progress) ? RunEnd::At::kLastEpoch : RunEnd::At::kNoImprovement);
}

std::optional<RunOutcome> EpochLoop::run_epoch() {
  run_.display.epoch = run_.progress.epoch + 1;
  base::hold_memory_reserve();
  const base::LedgerEpoch in_ledger(run_.ledger, run_.progress.epoch + 1);
  const base::Clock& clock = run_.facts.clock;
  Epoch epoch;
  if (auto outcome = train(epoch)) return outcome;
  const auto hook_begin = clock.now();
  if (auto outcome = validate(epoch)) return outcome;
  if (end_epoch(epoch) == EpochEnd::kInterrupted) {
    return interrupted_after(epoch.measured.undone.empty() ? epoch.metrics : StepMetrics());
  }
  const double hook_ms = base::milliseconds(clock.now() - hook_begin);
  save_if_due(run_, epoch, safety_.good_state().snapshot_of_now());
  safety_.check_times(epoch.trained.train_ms, hook_ms);
  reporter_.report(epoch.results(), {run_.policy.figures(), growth_.figures(), safety_.good_state().figures(),
                                     safety_.emergency_figures(), run_.saver.figures(), hook_ms});
  trainer_.prepare_structures();
  if (Interrupt::requested() != 0) return interrupted_after({});
  return safety_.halted();
}

std::optional<RunOutcome> EpochLoop::train(Epoch& epoch) {
  auto trained = trainer_.train();
  for (; !trained && trainer_.failure(); trained = trainer_.train()) {
    if (auto outcome = safety_.react(*trainer_.failure())) return outcome;
    trainer_.rolled_back();
  }
  if (!trained) return interrupted();
  epoch.trained = *std::move(trained);
  epoch.trained.utilization = utilization_.read();
  return std::nullopt;
}

std::optional<RunOutcome> EpochLoop::validate(Epoch& epoch) {
  const std::size_t events = run_.outbox.waiting().size();  // who measures again reports what comes after these again
  epoch.measured = measure();
  if (epoch.measured.interrupted) {
    run_.outbox.keep_first(events);
    return interrupted();
  }
  if (may_be_interrupted()) transaction_.begin(events);
  epoch.metrics = sum_of_steps(run_);
  trainer_.record_epoch_end(epoch.metrics, epoch.trained);
  const auto train_up_to = [this](std::int64_t step) { return trainer_.train_up_to(step); };
  auto checked = check_.check({epoch.metrics, epoch.measured, trainer_.nonfinite_reason(), train_up_to});
  epoch.verdict = std::move(checked.verdict);
  return std::move(checked.outcome);
}

EpochEnd EpochLoop::end_epoch(Epoch& epoch) {
  RunProgress& progress = run_.progress;
  const auto best_before = progress.best;
  epoch.is_best = record_epoch(progress, epoch.metrics, figures_of(epoch.measured.running), goals_of(config()));
  if (run_.model.settings.scales_loss()) progress.scaler_skips += epoch.metrics.nonfinite_steps;
  epoch.is_last = is_last_epoch(config(), progress);
  if (grow(epoch.results()) == EpochEnd::kInterrupted) return EpochEnd::kInterrupted;
  if (const auto& settled = growth_.settled_validation()) {
    epoch.is_best = replace_validation(progress, *settled, best_before, config().checkpoint.best_metric);
  } else if (!growth_.left_as_validated()) {
    // What would be saved as the best is not what was measured.
    progress.best = best_before;
    epoch.is_best = false;
  }
  if (!should_stop_early(config(), progress)) {
    follow_seeds(progress, growth_.validated_seeds(), growth_.active_seeds());
  }
  trainer_.take_structure();
  evaluation_.forward.take_structure();
  safety_.end_epoch(epoch.verdict, epoch.measured, decision_of(growth_.figures().questions),
                    growth_.removed_active_seed());
  return EpochEnd::kComplete;
}

Measurements EpochLoop::measure() {
  run_.display.phase = leyline::Phase::kValidating;
  base::fault::signal_point("tolaria.validating");
  return measure_epoch(evaluation_.refs, run_.progress.epoch + 1, run_.outbox,
                       growth_.needs_samples(run_.progress) ? PerSample::kKept : PerSample::kNotKept);
}

bool EpochLoop::leaves_good_state(const std::exception& error) const noexcept {
  try {
    return leaves_whole_step(error) && problem_of_state(trainer_, safety_).empty();
  } catch (...) {  // there is no memory to look
    return false;
  }
}

RunOutcome EpochLoop::interrupted() {
  const std::string problem = problem_of_state(trainer_, safety_);
  if (!problem.empty() && !safety_.restore_good_state()) return end_.interrupted_in_bad_state(problem);
  return interrupted_after(step::metrics_so_far(run_.model.state));
}

RunOutcome EpochLoop::interrupted_after(const StepMetrics& uncounted) {
  reporter_.warn_at_signal(uncounted);
  return end_.interrupted();
}

bool EpochLoop::may_be_interrupted() const {
  const bool settles = may_be_last_epoch(config(), run_.progress) && growth_.may_settle();
  return settles || growth_.may_train_control(run_.progress);
}

EpochEnd EpochLoop::grow(const EpochResults& results) {
  const LedgerScope deciding(run_.ledger, Owner::kPolicy);
  base::fault::signal_point("tolaria.deciding");
  safety_.good_state().discard_snapshot();
  return transaction_.complete([&] { return growth_.end_epoch(run_.progress, results); });
}

}  // namespace

RunOutcome run_epochs(Run& run) {
  run.ledger.start_up_is_over();
  if (run.facts.device.is_cuda()) run.ledger.watch().set_hooks(device::nvtx_ranges());
  run.display.epochs = static_cast<std::uint32_t>(run.facts.config.epochs);
  run.display.steps = static_cast<std::uint64_t>(run.facts.steps_per_epoch());
  return EpochLoop(run).run();
}

}  // namespace esper::tolaria
