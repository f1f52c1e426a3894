#include "lanes/journal_follower.h"

#include <algorithm>

#include "base/interrupt.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// A trial that an earlier process began, whose turn was repeated until `step`: a lane selected by name has none.
void report_trial(const LaneContext& context, const std::string& key, std::int64_t step) {
  if (context.config.lane != config::Lane::kAuto) return;
  context.emit(event("tolaria.trial_restarted"_event, Level::kInfo, {{"key", key}, {"step", std::to_string(step)}}));
}

// A record is read from a file, and has any number.
int near_misses(const LaneProgress& progress) {
  return static_cast<int>(std::min<std::int64_t>(progress.count, kMostNearMisses - 1));
}

}  // namespace

JournalFollower::Outcome JournalFollower::step(StepShape& shape, Batch microbatches, std::int64_t number) {
  const auto record = journal_.at(shape, number);
  const bool is_done = journal_.is_done(shape, number);
  const bool is_after = record && number > record->step && !record->on_trial && is_done;
  if (!record || record->key.empty()) {
    shape.incumbent.reset();
    if (is_after && resume_progress(shape, record->progress, microbatches)) return Outcome::kGoesOn;
    executor_.run_eager(microbatches);
  } else {
    if (const auto absent = take_program(shape, record->key, microbatches)) return *absent;
    if (is_done && leaves_to_comparison(shape, *record, number)) return Outcome::kGoesOn;
    executor_.run_in(*shape.incumbent, microbatches);
  }
  if (journal_.repeat(shape, executor_.tally(), number)) shape.next_check = machine_.checks().next_after(number);
  if (is_done) finish(shape, record.value_or(LaneRecord()), number);
  return Outcome::kRan;
}

// The outcome where the program is absent.
std::optional<JournalFollower::Outcome> JournalFollower::take_program(StepShape& shape, const std::string& key,
                                                                      Batch microbatches) {
  if (shape.incumbent && shape.incumbent->key() == key) return std::nullopt;
  auto lane = programs_.lane_of(shape, key, microbatches);
  // The wait for the program may have ended early; the next process repeats the step.
  if (!lane && base::Interrupt::requested() != 0) return Outcome::kInterrupted;
  if (!lane) {
    journal_.give_up(shape);
    failures_.report_not_tried(config::Lane::kCompiled,
                               "this resumed run cannot repeat its steps bit for bit: " + lane.error());
    shape.incumbent.reset();
    shape.enter(ShapeEvent::kCannotFollow, WarmUp{});
    machine_.begin(shape);
    return Outcome::kCannotRepeat;
  }
  shape.incumbent = std::move(*lane);
  return std::nullopt;
}

// After the step of the journal's last record the run compares as one that was not killed.
bool JournalFollower::leaves_to_comparison(StepShape& shape, const LaneRecord& record, std::int64_t number) {
  const bool comes_again = record.progress.stage == LaneStage::kComparing;
  const bool is_after = number > record.step && !record.on_trial;
  const auto next_check = std::max(shape.next_check, machine_.checks().next_after(record.step - 1));
  if (!comes_again && !(is_after && number >= next_check)) return false;
  shape.next_check = next_check;
  end(shape);
  if (comes_again && shape.is(StateId::kSearching))
    shape.enter(ShapeEvent::kCheckDue, Rechecking{near_misses(record.progress)});
  return true;
}

// After a step to which the journal's last record applies, if there is one: it may apply to the next one, too.
void JournalFollower::finish(StepShape& shape, const LaneRecord& record, std::int64_t number) {
  const bool goes_on = record.progress.stage != LaneStage::kNone && number == record.step;
  if (goes_on && context_.config.lane == config::Lane::kCompiled) return;
  if (record.on_trial) {
    // The earlier process may have run any part of the program's turn.
    if (++std::get<Following>(shape.state).last_turn < program::Trial::kStepsPerTurn) return;
    report_trial(context_, record.key, number + 1);
    shape.incumbent.reset();  // the search finds it in the cache, and its trial starts again
  }
  end(shape);
}

// Where the run that was not killed is with the shape's steps in eager: lane compiled gets to its program at the same
// step, or to none. False if the record does not say, and nothing was done.
bool JournalFollower::resume_progress(StepShape& shape, const LaneProgress& progress, Batch microbatches) {
  if (context_.config.lane != config::Lane::kCompiled) return false;
  const auto follow = [&](ShapeEvent event, ShapeState state) {
    journal_.forget(shape);
    shape.enter(event, std::move(state));
    shape.recorded.progress = progress;
    return true;
  };
  switch (progress.stage) {
    case LaneStage::kNone:
      return false;
    case LaneStage::kWarmingUp:
      if (progress.count == 0) break;
      return follow(ShapeEvent::kFollowedWarmUp, WarmUp{progress.count});
    case LaneStage::kComparing:
      if (!programs_.record(shape, microbatches)) break;
      shape.search.near_misses = near_misses(progress);
      return follow(ShapeEvent::kFollowed, Searching{});
    case LaneStage::kRejected:
      shape.search.rejected = true;
      failures_.report_not_tried(config::Lane::kCompiled,
                                 "its program was rejected before the run was resumed; the run continues in eager as "
                                 "it would have; with step.lane: auto others are tried");
      return follow(ShapeEvent::kStaysEager, EagerOnly{});
  }
  return follow(ShapeEvent::kFollowedEager, Recording{});
}

void JournalFollower::end(StepShape& shape) {
  journal_.forget(shape);
  // The run may have been resumed with another lane than it had.
  const LaneKind* const selected = context_.kind(context_.config.lane);
  if (selected != nullptr && !selected->has_compiler) shape.incumbent.reset();
  if (context_.config.lane == config::Lane::kEager) return shape.enter(ShapeEvent::kStaysEager, EagerOnly{});
  if (!shape.incumbent) return shape.enter(ShapeEvent::kFollowedEager, Recording{});
  shape.search.begun = true;
  shape.enter(ShapeEvent::kFollowed, Searching{});
}

}  // namespace esper::lanes
