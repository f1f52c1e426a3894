#include "tolaria/safety/run_safety.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"
#include "leyline/telemetry/telemetry.h"
#include "step/finite_watch.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;
using Verdict = LossVerdict::Kind;

namespace {

constexpr auto kEveryStep = std::numeric_limits<std::int64_t>::max();

leyline::TelemetryEvent suspect_event(const LossVerdict& verdict, double loss, const RunProgress& progress) {
  return event("tolaria.loss_suspect"_event, Level::kWarning,
               {{"epoch", std::to_string(progress.epoch)},
                {"loss", fmt::format("{}", loss)},
                {"mean", fmt::format("{}", verdict.mean)},
                {"deviation", fmt::format("{}", verdict.deviation)},
                {"epochs", std::to_string(progress.safety.suspect_epochs)},
                {"reason", verdict.reason}});
}

}  // namespace

RunSafety::RunSafety(const Evaluation& evaluation, RunProgress& progress, Saver& saver, Outbox& outbox, RunEnd& end)
    : evaluation_(evaluation),
      progress_(progress),
      outbox_(outbox),
      end_(end),
      saver_(saver),
      emergency_(evaluation.facts.config.safety.emergency, evaluation.facts.clock, outbox),
      good_state_(evaluation, progress, outbox, emergency_,
                  evaluation.facts.config.safety.may_react() ? GoodState::TakesSnapshots::kAlways
                                                             : GoodState::TakesSnapshots::kWhileSeedsGrow),
      reactions_(evaluation, progress, good_state_, saver, outbox, emergency_),
      budgets_(evaluation.facts.config.safety.budget, outbox),
      conservative_mode_(outbox, emergency_) {}

void RunSafety::begin(const std::optional<RestartReport>& restart_report) {
  // A run that was restarted comes from an epoch that failed, however far it went back.
  const std::int64_t end = restart_report ? kEveryStep : evaluation_.facts.epoch_end(progress_);
  const std::int64_t failures = progress_.safety.failures_before(end);
  if (restart_report) {
    const auto& [reason, epoch, step, took, figures] = *restart_report;
    good_state_.go_on_from(figures);
    good_state_.report_rollback({reason, epoch, step, failures, took, "checkpoint"});
  }
  if (failures > 0) emergency_.raise(EmergencyLevel::kElevated, failures, "the last epoch failed");
  // Runs of earlier versions did not record the good step.
  const std::int64_t steps_of_epoch = evaluation_.facts.steps_of(progress_.batch);
  if (!progress_.safety.is_suspect())
    progress_.safety.good_step = std::max(progress_.safety.good_step, progress_.step - steps_of_epoch);
  if (first_not_finite().empty()) good_state_.take_snapshot();
}

std::string RunSafety::first_not_finite() const {
  return step::first_not_finite(step::all_tensors(evaluation_.model, evaluation_.facts.device), {});
}

std::optional<RunOutcome> RunSafety::react(const TrainingFailure& failure) { return react(failure, nullptr); }

std::optional<RunOutcome> RunSafety::react(const TrainingFailure& failure, const step::StepMetrics* steps) {
  switch (reactions_.react(failure)) {
    case Reactions::Next::kTrainAgain:
      return halted();
    case Reactions::Next::kRestart:
      return restart(failure.reason, reactions_.restart_request());
    case Reactions::Next::kStop:
      break;
  }
  const auto advice = Reactions::advice_for(failure);
  if (failure.kind != FailureKind::kOutOfMemory) {
    const auto so_far = steps == nullptr ? step::metrics_so_far(evaluation_.model.state) : *steps;
    return end_.diverged(failure.reason, advice, &so_far);
  }
  save_good_state();
  return end_.out_of_memory(failure.reason, advice);
}

// Only one writer at a time may have the run's checkpoints and journal: the next one begins where this one has ended.
RunOutcome RunSafety::restart(const std::string& reason, const RestartRequest& request) {
  using enum RunOutcome::Kind;
  if (!saver_.finish()) return {kNotSaved, 0, reason + "; and a save did not end in time", {}};
  if (emergency_.is_halted())
    return {kHalted, 0, emergency_.reason() + "; continue from the newest checkpoint with esper train --resume", {}};
  RunOutcome outcome{kRestart, 0, reason, request};
  outcome.restart->figures = good_state_.figures();
  return outcome;
}

bool RunSafety::restore_good_state() {
  if (!good_state_.restore_snapshot()) return false;
  // Reactions to failures hold, and so do settings that changed.
  RunProgress kept = good_state_.snapshot_progress();
  kept.safety = progress_.safety;
  kept.changes = progress_.changes;
  progress_ = std::move(kept);
  return true;
}

RunOutcome RunSafety::fail_epoch(const std::string& reason, const step::StepMetrics& steps) {
  const auto outcome = react({FailureKind::kBadEpoch, progress_.safety.good_step, reason}, &steps);
  ESPER_CHECK(outcome, "a bad epoch is trained again from a checkpoint only");
  return *outcome;
}

std::optional<RunOutcome> RunSafety::restart_before_epoch(const std::string& reason) {
  if (!good_state_.is_within_epoch() || !good_state_.has_growing_seeds()) return {};
  if (!reactions_.has_checkpoint_before(progress_.safety.good_step)) return {};
  return restart(reason, reactions_.request_restart(progress_.safety.good_step));
}

void RunSafety::end_epoch(const LossVerdict& verdict, const Measurements& measured, ConservativeMode::Decision decision,
                          RemovedSeed removed) {
  using Decision = ConservativeMode::Decision;
  if (removed == RemovedSeed::kNotValidated) progress_.safety.remove_active_seed();
  record_verdict(progress_.safety, verdict, measured.running.loss, progress_.step);
  if (removed == RemovedSeed::kValidated) progress_.safety.remove_active_seed();
  if (verdict.kind == Verdict::kSuspect) outbox_.emit(suspect_event(verdict, measured.running.loss, progress_));
  if (!measured.undone.empty()) {
    ++progress_.safety.failed_epochs;
    emergency_.fail_epoch(progress_.safety.failures_before(progress_.step), measured.undone);
  } else if (verdict.kind == Verdict::kGood) {
    progress_.safety.end_epoch(progress_.step);
    emergency_.end_good_epoch(decision == Decision::kMissing ? EmergencyLevel::kConservative : EmergencyLevel::kNone);
  }
  conservative_mode_.follow(decision, progress_.safety.failures_before(progress_.step));
  good_state_.take_snapshot();
}

void RunSafety::save_good_state() noexcept {
  try {
    if (!saver_.is_holding()) {
      const StateCopy* const good = good_state_.snapshot();
      if (good == nullptr) return;
      saver_.hold(*good, good_state_.snapshot_progress());
      good_state_.end_with_snapshot("the run ends with an error");
      progress_ = good_state_.snapshot_progress();
    }
    saver_.save_last_state();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the error that ends the run is the one to report
  }
}

void RunSafety::check_times(double train_ms, double hook_ms) {
  budgets_.check(progress_, train_ms, hook_ms, emergency_);
}

std::optional<RunOutcome> RunSafety::halted() {
  if (!emergency_.is_halted()) return std::nullopt;
  return end_.halted(emergency_.reason());
}

}  // namespace esper::tolaria
