#include "lanes/step_runner.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "lanes/lane/failure_text.h"
#include "lanes/structure/structure.h"
#include "lanes/structure_swap.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

using LaneId = config::Lane;

// The key of the compiled program for which lane compiled was waiting when the run was stopped: the resumed run waits
// for it again, so that its steps have the same bits. Else empty.
std::string awaited_key(const KnownStructure* known, const std::string& shape) {
  if (known == nullptr) return {};
  const auto step = std::ranges::find(known->steps, shape, &KnownStep::shape);
  return step != known->steps.end() && step->waits_for_package() ? step->variant.key : std::string();
}

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
    : config_(config),
      services_(std::move(services)),
      capture_("step", config.graph.warmup_batches, services_.emit),
      context_{model, config_, device, step::training_forward(model.network), services_, figures_, capture_},
      failures_(services_, figures_),
      journal_(std::move(services_.log), services_.append_record),
      machine_(
          context_, failures_, tally_,
          config.lane == LaneId::kAuto ? ShapeMachine::Adoption::kWhenFaster : ShapeMachine::Adoption::kOnAgreement),
      queue_(services_, figures_),
      search_(context_, shapes_, failures_, queue_),
      follower_(context_, shapes_, failures_, queue_, journal_, machine_),
      preparer_(context_, failures_, queue_, {services_.scratch_model, services_.growth, services_.memory}),
      swap_(context_) {
  check_lane(config, device, services_.kinds);
  figures_.warmup_remaining = config_.lane == LaneId::kEager ? 0 : config_.compile.warmup_steps;
}

// Most steps have no decision to make, and a compiled one may take a microsecond: they take this fast path, without
// string operations or divisions.
bool StepRunner::step(Batch microbatches, StepPlace place) {
  if (config_.lane == LaneId::kEager && journal_.empty()) {
    machine_.run_eager(microbatches);
    return true;
  }
  StepShape* const known = shapes_.find(context_.model.network.structure_version(), microbatches);
  if (known != nullptr && known->is(StateId::kSettled) && known->incumbent && place.number < known->next_check) {
    machine_.run_in(*known->incumbent, microbatches);
    if (known->recorded.bits != tally_.bits) journal_.record(*known, tally_, place.number);
    return true;
  }
  StepShape& shape = known != nullptr ? *known : shape_of(microbatches, place);
  if (shape.is(StateId::kFollowing)) {
    using Followed = JournalFollower::Outcome;
    const Followed followed = follower_.step(shape, microbatches, place.number);
    if (followed == Followed::kInterrupted) return false;
    if (followed == Followed::kRan) {
      if (journal_.repeat(shape, tally_)) machine_.check_again_after(shape, place.number);
      return true;
    }
  }
  seek_candidate(shape, microbatches);
  const StepOutcome outcome = machine_.step(shape, microbatches, place);
  if (outcome.event == ShapeEvent::kRecorded) seek_candidate(shape, microbatches);
  search_.learn(shape, outcome, place);
  if (journal_.record(shape, tally_, place.number)) machine_.check_again_after(shape, place.number);
  return true;
}

void StepRunner::seek_candidate(StepShape& shape, Batch microbatches) {
  if (!shape.is(StateId::kSearching)) return;
  if (auto candidate = search_.next(shape, microbatches)) machine_.challenge(shape, std::move(*candidate));
}

StepShape& StepRunner::shape_of(Batch microbatches, StepPlace place) {
  const std::uint64_t structure = context_.model.network.structure_version();
  if (!shapes_.empty() && shapes_.shapes().front()->structure != structure) drop_shapes();
  if (preparer_.is_on() && shapes_.empty()) structure_ = structure_of(context_.model);
  StepShape& shape = shapes_.add(structure, microbatches);
  machine_.check_again_after(shape, place.number);
  if (const LaneRecord* record = journal_.restore(shape, place.number)) machine_.check_again_after(shape, record->step);
  if (preparer_.is_on()) preparer_.keep_example(shape, microbatches, place.left);
  if (journal_.follows(shape, place.number)) {
    shape.enter(ShapeEvent::kFollow, Following{});
  } else {
    machine_.begin(shape);
  }
  return shape;
}

void StepRunner::rolled_back(std::int64_t number) {
  journal_.rolled_back();
  for (const auto& shape : shapes_.shapes()) {
    shape->recorded = {};
    machine_.check_again_after(*shape, number);
  }
}

bool StepRunner::settled() const {
  return std::ranges::all_of(shapes_.shapes(), [](const auto& shape) {
    return shape->is(StateId::kSettled) || shape->is(StateId::kEagerOnly);
  });
}

// Compilations for a former structure are cancelled; finished ones stay in the cache.
void StepRunner::drop_shapes() {
  for (const auto& shape : shapes_.shapes()) {
    if (shape->search.compiling) queue_.give_up(shape->search.compiling->key);
  }
  shapes_.clear();
  capture_.forget_failures();
}

void StepRunner::prepare(std::span<const LikelyChange> likely, std::int64_t steps_left) {
  if (!preparer_.is_on() || shapes_.empty()) return;
  if (shapes_.shapes().front()->structure != context_.model.network.structure_version()) return;
  const PreparationTime preparing(context_);
  preparer_.prepare(structure_in_use(context_, shapes_, structure_), likely, steps_left);
}

void StepRunner::take_structure(std::int64_t number) {
  const std::uint64_t structure = context_.model.network.structure_version();
  if (!preparer_.is_on() || shapes_.empty() || shapes_.shapes().front()->structure == structure) return;
  swap_.end();
  preparer_.give_up_dry_run();
  const PreparationTime preparing(context_);
  StructureLibrary& library = preparer_.library();
  const LaneId kind = lane_in_use(context_, shapes_);
  const KnownStructure* const before = library.find(structure_);
  KnownStructure left = knowledge_of(shapes_, structure_, before != nullptr ? before->prepare_ms : 0);
  drop_shapes();
  if (!structure_.empty() && !left.steps.empty()) library.put(std::move(left));
  structure_ = structure_of(context_.model);
  if (config_.lane == LaneId::kCompiled && kind == LaneId::kCompiled) preparer_.finish(structure_);
  const auto begin = services_.clock.now();
  const KnownStructure* const known = kind == LaneId::kEager ? nullptr : library.find(structure_);
  const std::optional<double> prepare_ms = known != nullptr ? std::optional(known->prepare_ms) : std::nullopt;
  const bool prepared = known != nullptr && install(*known, kind, number);
  record_swapped(number);
  const std::chrono::duration<double, std::micro> took = services_.clock.now() - begin;
  swap_.begin(number, prepared ? prepare_ms : std::nullopt, took.count());
}

// Returns false if it cannot be installed; the structure then starts as an unknown one.
bool StepRunner::install(const KnownStructure& known, LaneId kind, std::int64_t number) {
  try {
    StructureInstaller installer(context_, shapes_, queue_, machine_, journal_);
    const bool installed = installer.install(known, preparer_.examples(), kind, number);
    for (const auto& shape : shapes_.shapes()) {
      if (const LaneRecord* record = journal_.restore(*shape, number)) machine_.check_again_after(*shape, record->step);
    }
    return installed;
  } catch (const std::exception& error) {
    const std::string reason = describe(error);
    drop_shapes();
    preparer_.report_unprepared("the new structure", reason);
    preparer_.library().drop(structure_);
    return false;
  }
}

// Records the bits with which a checkpoint at this step continues.
void StepRunner::record_swapped(std::int64_t number) {
  const bool stopped = config_.lane == LaneId::kCompiled && base::Interrupt::requested() != 0;
  const KnownStructure* const known = stopped ? preparer_.library().find(structure_) : nullptr;
  journal_.record_all(number, [&](const std::string& name, const std::string& key) {
    StepShape* const shape = shapes_.find(name);
    const bool compiled = shape != nullptr && shape->runs_compiled();
    const std::string now = compiled ? shape->incumbent->key() : key.empty() ? key : awaited_key(known, name);
    if (compiled) shape->recorded.bits = shape->incumbent->bits();
    if (shape != nullptr) shape->recorded.key = now;
    return now;
  });
}

void StepRunner::record_epoch() {
  if (tally_.epoch_steps > 0 && tally_.epoch_compiled_steps == tally_.epoch_steps) ++figures_.compiled_epochs;
  tally_.epoch_steps = tally_.epoch_compiled_steps = 0;
  figures_.graphs = capture_.figures();
}

}  // namespace esper::lanes
