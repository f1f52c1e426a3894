#include "tolaria/safety/run_safety.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "leyline/telemetry.h"
#include "step/finite_watch.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;
using Verdict = LossVerdict::Kind;

namespace {

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
      good_state_(
          evaluation, progress, outbox, emergency_,
          evaluation.facts.config.safety.may_react() ? GoodState::Keeps::kAlways : GoodState::Keeps::kWhileSeedsGrow),
      reactions_(evaluation.facts, evaluation.model.settings, progress, good_state_, saver, outbox, emergency_),
      budgets_(evaluation.facts.config.safety.budget, outbox) {}

void RunSafety::begin(const std::optional<CameBack>& came_back) {
  if (came_back) {
    const auto& [reason, epoch, step, took, figures] = *came_back;
    good_state_.go_on_from(figures);
    good_state_.report_return({reason, epoch, step, took, "checkpoint"});
  }
  if (progress_.safety.failed_epochs > 0)
    emergency_.raise(EmergencyLevel::kElevated, progress_.safety.failed_epochs, "the last epoch failed");
  // Runs of earlier versions did not record the good step.
  const std::int64_t steps_of_epoch = evaluation_.facts.steps_of(progress_.batch);
  if (is_worth_saving())
    progress_.safety.good_step = std::max(progress_.safety.good_step, progress_.step - steps_of_epoch);
  const auto tensors = step::all_tensors(evaluation_.model, evaluation_.facts.device);
  if (step::first_not_finite(tensors, {}).empty()) good_state_.keep();
}

std::optional<RunOutcome> RunSafety::react(const BadStep& bad) {
  switch (reactions_.react(bad)) {
    case Reactions::Next::kTrainAgain:
      return halted();
    case Reactions::Next::kGoBack:
      return go_back(bad.reason, reactions_.going_back());
    case Reactions::Next::kStop:
      break;
  }
  const auto advice = Reactions::advice_for(bad);
  if (bad.trouble != Trouble::kOutOfMemory) return end_.diverged(bad.reason, advice);
  save_good_state();
  return end_.out_of_memory(bad.reason, advice);
}

// Only one writer at a time may have the run's checkpoints and journal: the next one begins where this one has ended.
RunOutcome RunSafety::go_back(const std::string& reason, const GoBack& where) {
  using End = RunOutcome::Kind;
  if (!saver_.finish()) return {End::kNotSaved, 0, reason + "; and a save did not end in time", {}};
  if (emergency_.is_halted())
    return {End::kHalted, 0, emergency_.reason() + "; go on from the newest checkpoint with esper train --resume", {}};
  RunOutcome outcome{End::kGoBack, 0, reason, where};
  outcome.back->figures = good_state_.figures();
  return outcome;
}

bool RunSafety::return_to_good_state() {
  if (!good_state_.restore()) return false;
  // Decisions about trouble hold, and so do settings that changed.
  RunProgress kept = good_state_.kept_progress();
  kept.safety = progress_.safety;
  kept.changes = progress_.changes;
  progress_ = std::move(kept);
  return true;
}

RunOutcome RunSafety::fail_epoch(const std::string& reason) {
  const auto outcome = react({progress_.safety.good_step, reason, false, Trouble::kBadEpoch});
  ESPER_CHECK(outcome, "a bad epoch is trained again from a checkpoint only");
  return *outcome;
}

std::optional<RunOutcome> RunSafety::go_before_epoch(const std::string& reason) {
  if (!good_state_.is_within_epoch() || !good_state_.has_growing_seeds()) return {};
  if (!reactions_.has_checkpoint_before(progress_.safety.good_step)) return {};
  return go_back(reason, reactions_.go_back_to(progress_.safety.good_step));
}

void RunSafety::end_epoch(const LossVerdict& verdict, const Measurements& measured, Decision decision) {
  record_verdict(progress_.safety, verdict, measured.running.loss, progress_.step);
  if (verdict.kind == Verdict::kSuspect) outbox_.emit(suspect_event(verdict, measured.running.loss, progress_));
  if (!measured.undone.empty()) {
    emergency_.fail_epoch(++progress_.safety.failed_epochs, measured.undone);
  } else if (verdict.kind == Verdict::kGood) {
    progress_.safety.end_epoch(progress_.step);
    emergency_.end_good_epoch(decision == Decision::kMissing ? EmergencyLevel::kConservative : EmergencyLevel::kNone);
  }
  follow_decision(decision);
  good_state_.keep();
}

void RunSafety::follow_decision(Decision decision) {
  const bool is_missing = decision == Decision::kMissing;
  constexpr const char* kReason = "the policy did not decide";
  if (is_missing) emergency_.raise(EmergencyLevel::kConservative, progress_.safety.failed_epochs, kReason);
  if (std::exchange(is_conservative_, is_missing) == is_missing) return;
  outbox_.emit(is_missing ? event("tolaria.conservative_mode_entered"_event, Level::kWarning, {{"reason", kReason}})
                          : event("tolaria.conservative_mode_cleared"_event, Level::kInfo));
}

bool RunSafety::needs_checkpoint() const {
  const auto& every = evaluation_.facts.config.checkpoint.every;
  return every.unit == base::Length::Unit::kSteps && every.count > 0 && good_state_.has_growing_seeds();
}

void RunSafety::save_good_state() noexcept {
  try {
    if (!saver_.is_holding()) {
      if (!good_state_.has_copy() || !good_state_.put_back("the run ends with an error")) return;
      progress_ = good_state_.kept_progress();
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
