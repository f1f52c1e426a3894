#include "lanes/shape/shape_machine.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/fault.h"
#include "base/text/rounding.h"
#include "device/asynchronous_error.h"
#include "lanes/lane/failure_text.h"
#include "lanes/lane/step_external_tensors.h"
#include "program/recorder.h"

namespace esper::lanes {
namespace {

using program::Contender;

// A smaller speedup is not worth the change of bits.
constexpr double kLeastSpeedup = 1.02;

double microseconds(base::Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

// After a decided comparison. One of a compiled program says nothing about replay.
void record_agreement(StepShape& shape, const Lane& lane, const CheckResult& result) {
  if (lane.key().empty()) shape.replay_agrees = result.verdict == CheckResult::Verdict::kSame;
}

StepOutcome rejected(StateId from, const Lane& lane, Rejection rejection) {
  rejection.mac = lane.loaded().mac;
  return {.from = from,
          .event = ShapeEvent::kRejected,
          .lane = lane.kind(),
          .key = lane.key(),
          .rejection = std::move(rejection)};
}

StepOutcome adopt(StepShape& shape, Lane candidate) {
  StepOutcome outcome{.from = id_of(shape.state),
                      .event = ShapeEvent::kAdopted,
                      .lane = candidate.kind(),
                      .key = candidate.key(),
                      .former = shape.incumbent ? shape.incumbent->kind() : config::Lane::kEager};
  shape.incumbent = std::move(candidate);
  shape.enter(ShapeEvent::kAdopted, Searching{});
  return outcome;
}

// Adopts or rejects the candidate of a trial that is done.
StepOutcome settle_trial(const LaneContext& context, StepShape& shape) {
  auto& [candidate, trial] = std::get<Trialling>(shape.state);
  const double speedup = trial.speedup();
  const double incumbent_us = microseconds(trial.median(Contender::kIncumbent));
  const double candidate_us = microseconds(trial.median(Contender::kChallenger));
  if (!shape.incumbent) context.figures.eager_step_us = incumbent_us;
  const bool faster = speedup >= kLeastSpeedup;
  context.figures.steady_step_us = faster ? candidate_us : incumbent_us;
  StepOutcome outcome;
  if (faster) {
    outcome = adopt(shape, Lane(std::move(candidate)));
  } else {
    const std::string incumbent(context.kind(shape.incumbent ? shape.incumbent->kind() : config::Lane::kEager)->name);
    const std::string reason =
        fmt::format("it was not faster: {} times the speed of {}", base::format_significant(speedup, 3), incumbent);
    outcome = rejected(StateId::kTrialling, candidate, {Rejection::Cause::kNotFaster, reason, {}});
    shape.enter(ShapeEvent::kRejected, Searching{});
  }
  outcome.speedup = speedup;
  outcome.candidate_us = candidate_us;
  return outcome;
}

}  // namespace

void ShapeMachine::begin(StepShape& shape) const {
  const std::int64_t steps = context_.config.compile.warmup_steps;
  shape.state = WarmUp{steps};
  if (context_.config.lane == config::Lane::kEager) return shape.enter(ShapeEvent::kStaysEager, EagerOnly{});
  if (steps == 0) shape.enter(ShapeEvent::kWarmedUp, Recording{});
}

void ShapeMachine::challenge(StepShape& shape, Lane candidate) const {
  const int near_misses = std::exchange(shape.search.near_misses, 0);
  shape.enter(ShapeEvent::kCandidate, Checking{std::move(candidate), near_misses});
}

StepOutcome ShapeMachine::step(StepShape& shape, Batch microbatches, StepPlace place) {
  switch (id_of(shape.state)) {
    case StateId::kWarmUp:
      return warm_up(shape, microbatches);
    case StateId::kRecording:
      return record(shape, microbatches);
    case StateId::kSearching:
    case StateId::kSettled:
      return run(shape, microbatches, place);
    case StateId::kChecking:
      return check(shape, microbatches, place);
    case StateId::kTrialling:
      return try_out(shape, microbatches);
    case StateId::kRechecking:
      return recheck(shape, microbatches, place);
    case StateId::kEagerOnly:
      executor_.run_eager(microbatches);
      return {.from = StateId::kEagerOnly};
    case StateId::kFollowing:
      break;
  }
  ESPER_CHECK(false, "the journal says how this step runs");
}

StepOutcome ShapeMachine::warm_up(StepShape& shape, Batch microbatches) {
  auto& left = std::get<WarmUp>(shape.state).left;
  context_.figures.warmup_remaining = --left;
  executor_.run_eager(microbatches);
  if (left > 0) return {.from = StateId::kWarmUp};
  shape.enter(ShapeEvent::kWarmedUp, Recording{});
  return {.from = StateId::kWarmUp, .event = ShapeEvent::kWarmedUp};
}

StepOutcome ShapeMachine::record(StepShape& shape, Batch microbatches) {
  const PreparationTime preparing(context_);
  auto recorded =
      program::record(step_external_tensors(context_.model, microbatches), [&] { executor_.run_eager(microbatches); });
  if (base::fault::hit("lanes.recording")) recorded = base::failure("fault point lanes.recording");
  if (!recorded) {
    shape.enter(ShapeEvent::kStaysEager, EagerOnly{});
    return {.from = StateId::kRecording, .event = ShapeEvent::kStaysEager, .reason = recorded.error()};
  }
  shape.program = std::move(*recorded);
  shape.replay_agrees = false;
  shape.enter(ShapeEvent::kRecorded, Searching{});
  return {.from = StateId::kRecording, .event = ShapeEvent::kRecorded};
}

StepOutcome ShapeMachine::run(StepShape& shape, Batch microbatches, StepPlace place) {
  if (shape.incumbent && place.number >= shape.next_check) {
    shape.enter(ShapeEvent::kCheckDue, Rechecking{std::exchange(shape.search.near_misses, 0)});
    return recheck(shape, microbatches, place);
  }
  StepOutcome outcome{.from = id_of(shape.state)};
  if (!shape.search.undecided) {
    executor_.run_incumbent(shape.incumbent, microbatches);
    return outcome;
  }
  outcome.incumbent_us = microseconds(executor_.time([&] { executor_.run_incumbent(shape.incumbent, microbatches); }));
  return outcome;
}

// An error that CUDA reports late ends the run at whatever is done next, so where the lane is a compiled program the
// text says how to go on without it.
CheckResult ShapeMachine::compare(Lane& lane, int& near_misses, Batch microbatches) {
  try {
    return compare_with_eager(context_, lane, near_misses, microbatches, [&] { executor_.run_eager(microbatches); });
  } catch (const std::exception& error) {
    if (lane.key().empty() || !device::is_asynchronous_error(error.what())) throw;
    throw executor_.failed_step(lane, describe(error));
  }
}

StepOutcome ShapeMachine::check(StepShape& shape, Batch microbatches, StepPlace place) {
  auto& [candidate, near_misses] = std::get<Checking>(shape.state);
  CheckResult result = compare(candidate, near_misses, microbatches);
  if (result.verdict == CheckResult::Verdict::kUndecided) return {.from = StateId::kChecking};
  record_agreement(shape, candidate, result);
  if (result.verdict == CheckResult::Verdict::kRejected) {
    StepOutcome outcome = rejected(StateId::kChecking, candidate, std::move(result.rejection));
    shape.enter(ShapeEvent::kRejected, Searching{});
    if (result.eager_is_due) executor_.run_eager(microbatches);
    return outcome;
  }
  shape.next_check = checks_.next_after(place.number);
  Lane agreed = std::move(candidate);
  if (adoption_ == Adoption::kOnAgreement) return adopt(shape, std::move(agreed));
  shape.enter(ShapeEvent::kAgreed, Trialling{std::move(agreed)});
  return {.from = StateId::kChecking, .event = ShapeEvent::kAgreed};
}

StepOutcome ShapeMachine::recheck(StepShape& shape, Batch microbatches, StepPlace place) {
  auto& near_misses = std::get<Rechecking>(shape.state).near_misses;
  CheckResult result = compare(*shape.incumbent, near_misses, microbatches);
  if (result.verdict == CheckResult::Verdict::kUndecided) return {.from = StateId::kRechecking};
  record_agreement(shape, *shape.incumbent, result);
  shape.next_check = checks_.next_after(place.number);
  if (result.verdict == CheckResult::Verdict::kSame) {
    shape.enter(ShapeEvent::kAgreed, Searching{});
    return {.from = StateId::kRechecking, .event = ShapeEvent::kAgreed};
  }
  StepOutcome outcome = rejected(StateId::kRechecking, *shape.incumbent, std::move(result.rejection));
  shape.incumbent.reset();
  shape.enter(ShapeEvent::kRejected, Searching{});
  if (result.eager_is_due) executor_.run_eager(microbatches);
  return outcome;
}

StepOutcome ShapeMachine::try_out(StepShape& shape, Batch microbatches) {
  auto& [candidate, trial] = std::get<Trialling>(shape.state);
  trial.note(executor_.time([&] {
    if (trial.turn() == Contender::kIncumbent) {
      executor_.run_incumbent(shape.incumbent, microbatches);
    } else {
      executor_.run_in(candidate, microbatches);
    }
  }));
  if (trial.done()) return settle_trial(context_, shape);
  StepOutcome outcome{.from = StateId::kTrialling};
  if (shape.search.undecided && trial.turn() == Contender::kChallenger) {
    outcome.incumbent_us = microseconds(trial.median(Contender::kIncumbent));
  }
  return outcome;
}

void ShapeMachine::rolled_back(StepShape& shape, std::int64_t number) const {
  shape.recorded = {};
  shape.next_check = checks_.next_after(number - 1);
  if (auto* following = std::get_if<Following>(&shape.state)) following->last_turn = 0;
  // A comparison that decided nothing is repeated, as in a process that is resumed here.
  const auto* checking = std::get_if<Checking>(&shape.state);
  if (checking != nullptr && !shape.incumbent) shape.search.near_misses = checking->near_misses;
  if (const auto* rechecking = std::get_if<Rechecking>(&shape.state)) {
    shape.search.near_misses = rechecking->near_misses;
    shape.next_check = std::min(shape.next_check, number);
  }
  Lane* const candidate = shape.candidate();
  // The incumbent did not run the last step, so it is not compared in its place.
  if (candidate != nullptr && !executor_.tally().key.empty() && candidate->key() == executor_.tally().key)
    shape.next_check = checks_.next_interval_after(number - 1);
  if (candidate != nullptr) shape.withheld = std::move(*candidate);
  if (candidate != nullptr || shape.is(StateId::kRechecking)) shape.enter(ShapeEvent::kWithdrawn, Searching{});
}

}  // namespace esper::lanes
