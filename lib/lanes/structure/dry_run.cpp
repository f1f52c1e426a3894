#include "lanes/structure/dry_run.h"

#include <algorithm>

#include "lanes/lane/recording.h"
#include "lanes/shape/step_comparison.h"
#include "step/probe.h"

namespace esper::lanes {
namespace {

using LaneId = config::Lane;

}  // namespace

DryRun::DryRun(const LaneContext& run, LaneFailures& failures, const Examples& examples,
               std::unique_ptr<step::Model> scratch, KnownStructure known, CompiledLikeness like)
    : failures_(failures),
      run_figures_(run.figures),
      examples_(examples),
      scratch_(run, failures, std::move(scratch)),
      known_(std::move(known)),
      like_(std::move(like)) {}

// The last candidate of a shape is still to be compared when its phase is over.
bool DryRun::is_done(const std::string& shape) const {
  const auto phase = phases_.find(shape);
  return phase != phases_.end() && phase->second == Phase::kDone && !shapes_.find(shape)->is(StateId::kChecking);
}

bool DryRun::is_done() const {
  return std::ranges::all_of(examples_, [&](const auto& example) { return is_done(example.first); });
}

void DryRun::look_for_packages() {
  for (auto& [name, phase] : phases_) phase = Phase::kPackage;
}

KnownStep& DryRun::known_step(const StepShape& shape) {
  return *std::ranges::find(known_.steps, shape.name, &KnownStep::shape);
}

// The first shape that is not done; a shape that was not seen yet is added.
StepShape& DryRun::begin_next() {
  const auto next = std::ranges::find_if(examples_, [&](const auto& example) { return !is_done(example.first); });
  const auto& [name, example] = *next;
  if (StepShape* const begun = shapes_.find(name)) return *begun;
  StepShape& shape = shapes_.add(scratch_.model->network.structure_version(), example.batch);
  const auto known = std::ranges::find(known_.steps, name, &KnownStep::shape);
  if (known != known_.steps.end()) {
    shape.program = known->program;
    shape.enter(ShapeEvent::kInstalled, Searching{});
    phases_[name] = Phase::kPackage;
  } else {
    scratch_.machine.begin(shape);
    step::probe_attribution(*scratch_.model, example.batch);
    phases_[name] = Phase::kRecord;
  }
  return shape;
}

void DryRun::advance() {
  StepShape& shape = begin_next();
  const Batch example = examples_.at(shape.name).batch;
  if (shape.is(StateId::kChecking)) return check(shape, example);
  Phase& phase = phases_.at(shape.name);
  std::optional<Lane> candidate;
  if (phase == Phase::kRecord) return record(shape, example);
  if (phase == Phase::kReplay) {
    auto replay = make_lane(*scratch_.context.kind(LaneId::kReplay), {*shape.program}, *scratch_.model, example,
                            scratch_.context.setup());
    if (!replay) throw NotPreparable(replay.error().reason, replay.error().of_memory);
    candidate = std::move(*replay);
  } else if (known_step(shape).waits_for_package()) {
    candidate = load_package(known_step(shape), example);
  }
  phase = phase == Phase::kReplay ? Phase::kPackage : Phase::kDone;
  attempts_ = 0;
  shape.incumbent.reset();
  if (candidate) scratch_.machine.challenge(shape, std::move(*candidate));
}

void DryRun::record(StepShape& shape, Batch example) {
  const StepOutcome outcome = scratch_.machine.step(shape, example, {});
  if (outcome.event == ShapeEvent::kStaysEager) throw NotPreparable(outcome.reason);
  if (outcome.event != ShapeEvent::kRecorded) return;
  KnownStep step{shape.name, *shape.program};
  if (scratch_.config.compile.dynamic && !like_.each_size_alone) find_group(step, example);
  choose_variant(step);
  known_.steps.push_back(std::move(step));
  phases_.at(shape.name) = Phase::kReplay;
}

// Compares the lane under test; if undecided, a later call repeats the comparison.
void DryRun::check(StepShape& shape, Batch example) {
  const LoadedProgram loaded = shape.candidate()->loaded();
  const bool compiled = loaded.package != nullptr;
  const StepOutcome outcome = scratch_.machine.step(shape, example, {});
  run_figures_.checks += std::exchange(scratch_.figures.checks, 0);
  KnownStep& step = known_step(shape);
  if (outcome.event == ShapeEvent::kAdopted) {
    if (!compiled) {
      step.replay_agreed = true;
      return;
    }
    step.ready = loaded;
    ++run_figures_.cache_hits;
  } else if (outcome.event == ShapeEvent::kRejected) {
    const auto& [cause, reason, where, mac] = outcome.rejection;
    if (cause == Rejection::Cause::kNoMemory) throw NotPreparable(reason, true);
    if (!compiled) {
      ++run_figures_.checks_failed;
      throw NotPreparable(where ? "its replay differs from eager's step in " + where->tensor : reason);
    }
    failures_.reject(outcome.lane, outcome.key, {cause, reason + ", in a dry run", where, mac});
    reject_package(outcome.key);
  } else if (++attempts_ == kMostNearMisses) {
    shape.enter(ShapeEvent::kWithdrawn, Searching{});
  }
}

// If the cache has the step's package: loads it, or takes it from another batch size that loaded it.
std::optional<Lane> DryRun::load_package(KnownStep& step, Batch example) {
  const std::string key = step.variant.key;
  const auto loaded = std::ranges::find_if(
      known_.steps, [&](const KnownStep& other) { return other.ready && other.ready->key == key; });
  if (loaded != known_.steps.end()) {
    auto lane = make_lane(*scratch_.context.kind(LaneId::kCompiled), {step.program, *loaded->ready}, *scratch_.model,
                          example, scratch_.context.setup());
    if (!lane) throw NotPreparable(lane.error().reason, lane.error().of_memory);
    step.variant.effort = loaded->variant.effort;
    return std::move(*lane);
  }
  using program::CompileEffort;
  const auto found = scratch_.context.services.compile_service->cache().find(key);
  if (const std::string damage = found.error_or(""); !damage.empty()) failures_.report_damaged(damage);
  step.in_cache = found.has_value();
  const bool full = found && has_effort(found->facts, CompileEffort::kFull);
  if (!found || (!full && scratch_.config.lane == LaneId::kCompiled)) return std::nullopt;
  auto cached = load_cached(scratch_.context, failures_, known_.to_compile(step), key, example, Absence::kLoss);
  run_figures_.quarantined += std::exchange(scratch_.figures.quarantined, 0);
  if (!cached) {
    if (cached.error().of_memory) throw NotPreparable(cached.error().reason, true);
    reject_package(key);
    return std::nullopt;
  }
  step.variant.effort = cached->effort;
  return std::move(cached->lane);
}

void DryRun::reject_package(const std::string& key) {
  for (KnownStep& step : known_.steps) {
    if (step.variant.key != key) continue;
    step.ready.reset();
    step.unavailable = true;
  }
}

void DryRun::find_group(KnownStep& step, Batch example) {
  const std::int64_t n = batch_size_of(example);
  for (std::size_t i = 0; i < known_.groups.size(); ++i) {
    if (!known_.groups[i].covers(n) || known_.groups[i].at(n) != step.program) continue;
    step.group = i;
    return;
  }
  auto symbolic = record_for_all_sizes(*scratch_.model, example, step.program, scratch_.context.forward);
  if (!symbolic) return;
  step.group = known_.groups.size();
  known_.groups.push_back(std::move(*symbolic));
}

// The recipe that the structure in use runs, if suitable; else the most promising one.
void DryRun::choose_variant(KnownStep& step) const {
  const bool compiles = scratch_.config.lane == LaneId::kAuto || scratch_.config.lane == LaneId::kCompiled;
  if (!compiles || !scratch_.context.can_compile()) return;
  const program::SymbolicProgram program = known_.to_compile(step);
  program::CompileService& compile_service = *scratch_.context.services.compile_service;
  for (const std::string& recipe : compile_service.recipes(program)) {
    const std::string key = compile_service.key(program, recipe);
    if (compile_service.cache().why_unusable(key)) continue;
    if (step.variant.key.empty() || recipe == like_.recipe) step.variant = {recipe, program::CompileEffort::kFull, key};
  }
}

}  // namespace esper::lanes
