#include "lanes/step_runner.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

using LaneId = config::Lane;

}  // namespace

void check_lane(const config::StepConfig& config, torch::Device device, std::span<const LaneKind> kinds) {
  const LaneKind* kind = find_kind(kinds, config.lane);
  if (kind == nullptr || kind->available(device)) return;
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("step.lane: {} cannot run here: {}; use step.lane: auto, replay or compiled",
                                kind->name, kind->needs));
}

StepRunner::StepRunner(step::Model& model, const config::StepConfig& config, torch::Device device,
                       RunnerServices services)
    : run_(model, config, device, std::move(services)),
      executor_(run_.context, run_.failures),
      journal_(std::move(run_.services.log), run_.services.append_record),
      machine_(
          run_.context, executor_,
          config.lane == LaneId::kAuto ? ShapeMachine::Adoption::kWhenFaster : ShapeMachine::Adoption::kOnAgreement),
      search_(run_.context, shapes_, run_.failures, run_.queue),
      programs_(run_.context, shapes_, run_.failures, run_.queue),
      follower_(run_.context, run_.failures, journal_, machine_, executor_, programs_),
      changes_(run_, shapes_, machine_, journal_) {
  check_lane(config, device, run_.services.kinds);
  run_.figures.warmup_remaining = config.lane == LaneId::kEager ? 0 : config.compile.warmup_steps;
}

// Most steps have no decision to make, and a compiled one may take a microsecond: they take this fast path, without
// string operations or divisions.
bool StepRunner::step(Batch microbatches, StepPlace place) {
  if (run_.config.lane == LaneId::kEager && journal_.empty()) {
    executor_.run_eager(microbatches);
    return true;
  }
  StepShape* const known = shapes_.find(run_.context.model.network.structure_version(), microbatches);
  if (known != nullptr && known->is(StateId::kSettled) && known->incumbent && place.number < known->next_check) {
    executor_.run_in(*known->incumbent, microbatches);
    if (known->recorded.bits != executor_.tally().bits) journal_.record(*known, executor_.tally(), place.number);
    return true;
  }
  StepShape& shape = known != nullptr ? *known : shape_of(microbatches, place);
  using Followed = JournalFollower::Outcome;
  const bool follows = shape.is(StateId::kFollowing);
  const Followed followed = follows ? follower_.step(shape, microbatches, place.number) : Followed::kGoesOn;
  if (followed == Followed::kInterrupted) return false;
  if (followed == Followed::kRan) return true;
  const bool check_is_due = shape.incumbent && place.number >= shape.next_check;
  if (!check_is_due) seek_candidate(shape, microbatches, place);
  // The wait for the program may have ended early; the next process repeats the step.
  const bool waited =
      follows && run_.config.lane == LaneId::kCompiled && shape.is(StateId::kSearching) && !shape.incumbent;
  if (waited && base::Interrupt::requested() != 0) return false;
  const StepOutcome outcome = machine_.step(shape, microbatches, place);
  if (outcome.event == ShapeEvent::kRecorded) seek_candidate(shape, microbatches, place);
  search_.learn(shape, outcome, place);
  record_bits(shape, outcome, place.number);
  return true;
}

void StepRunner::record_bits(StepShape& shape, const StepOutcome& outcome, std::int64_t number) {
  const StepTally& ran = executor_.tally();
  const bool is_adopted = outcome.from == StateId::kChecking && outcome.event == ShapeEvent::kAdopted;
  if (shape.runs_compiled() && (is_adopted || outcome.from == StateId::kRechecking)) {
    const bool compares = shape.is(StateId::kRechecking) || shape.next_check <= number + 1;
    return journal_.record_comparison(shape, ran, number, compares ? shape.progress() : LaneProgress());
  }
  // Lane auto decides by measured times, so a resumed run does not go on from there.
  const bool has_progress = run_.config.lane == LaneId::kCompiled && ran.key.empty();
  if (journal_.record(shape, ran, number, has_progress ? shape.progress() : LaneProgress()))
    shape.next_check = machine_.checks().next_after(number);
}

void StepRunner::seek_candidate(StepShape& shape, Batch microbatches, StepPlace place) {
  if (!shape.is(StateId::kSearching) || machine_.checks().is_comparison_ahead(place.number)) return;
  if (shape.withheld) return machine_.challenge(shape, *std::exchange(shape.withheld, std::nullopt));
  if (auto candidate = search_.next(shape, microbatches)) machine_.challenge(shape, std::move(*candidate));
}

StepShape& StepRunner::shape_of(Batch microbatches, StepPlace place) {
  const std::uint64_t structure = run_.context.model.network.structure_version();
  changes_.begin_structure();
  StepShape& shape = shapes_.add(structure, microbatches);
  shape.next_check = machine_.checks().next_after(journal_.restore(shape, place.number));
  changes_.keep_example(shape, microbatches, place.left);
  if (journal_.follows(shape, place.number)) {
    shape.enter(ShapeEvent::kFollow, Following{});
  } else {
    machine_.begin(shape);
  }
  return shape;
}

void StepRunner::rolled_back(std::int64_t number) {
  journal_.rolled_back();
  for (const auto& shape : shapes_.shapes()) machine_.rolled_back(*shape, number);
}

bool StepRunner::settled() const {
  return std::ranges::all_of(shapes_.shapes(), [](const auto& shape) {
    return shape->is(StateId::kSettled) || shape->is(StateId::kEagerOnly);
  });
}

void StepRunner::record_epoch() {
  const StepTally& tally = executor_.tally();
  if (tally.epoch_steps > 0 && tally.epoch_compiled_steps == tally.epoch_steps) ++run_.figures.compiled_epochs;
  executor_.begin_epoch();
  run_.figures.graphs = run_.capture.figures();
}

}  // namespace esper::lanes
