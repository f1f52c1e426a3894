#include "lanes/candidate_search.h"

#include <algorithm>

#include "base/names.h"
#include "lanes/shape/adoption_report.h"
#include "lanes/shape/recipe_search.h"
#include "lanes/shape/uncompiled_lane.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {

using program::CompileEffort;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

using LaneId = config::Lane;

// A failure of one recipe: the next one may still compile, and the winner with full effort.
bool is_of_one_recipe(program::CompileFailure failure) {
  using F = program::CompileFailure;
  return failure == F::kFailed || failure == F::kTimeout || failure == F::kOutOfMemory || failure == F::kCrashed;
}

bool wants_uncompiled(const LaneContext& context) { return context.config.lane != LaneId::kCompiled; }

// Whether a lane is left to try for it, or to wait for.
bool is_pending(const LaneContext& context, const StepShape& shape) {
  const LaneSearch& search = shape.search;
  if (!search.begun || search.compiling || search.undecided || shape.withheld) return true;
  if (!shape.incumbent && !search.tried_uncompiled && wants_uncompiled(context)) return true;
  if (!shape.is_member() || search.took_shared) return false;
  const StepShape& leader = *shape.group->leader;
  const bool leader_is_done = leader.is(StateId::kSettled) || leader.is(StateId::kEagerOnly);
  return !leader_is_done || leader.runs_compiled();
}

// The cache has the compiled program, so no graph is tried first.
void report_graph_skipped(const LaneContext& context) {
  const LaneKind* graph = context.kind(LaneId::kGraph);
  if (context.config.lane != LaneId::kAuto || graph == nullptr || !graph->available(context.device)) return;
  context.emit(event("tolaria.graph_skipped_compile"_event, Level::kInfo, {}));
}

}  // namespace

std::optional<Lane> CandidateSearch::next(StepShape& shape, Batch microbatches) {
  if (!is_pending(context_, shape)) return std::nullopt;
  LaneSearch& search = shape.search;
  const bool first = !search.begun && !shape.incumbent;
  std::optional<Lane> candidate;
  if (!search.begun) {
    const PreparationTime preparing(context_);
    search.begun = true;
    candidate = begin(shape, microbatches);
  } else if (search.compiling) {
    candidate = poll(shape, microbatches);
  }
  if (!candidate && shape.is_member()) candidate = take_shared(shape, microbatches);
  if (candidate && first) report_graph_skipped(context_);
  if (!candidate && !shape.incumbent && wants_uncompiled(context_) && !std::exchange(search.tried_uncompiled, true)) {
    const PreparationTime preparing(context_);
    candidate = uncompiled(shape, microbatches);
  }
  return candidate;
}

void CandidateSearch::learn(StepShape& shape, const StepOutcome& outcome, StepPlace place) {
  LaneSearch& search = shape.search;
  if (outcome.incumbent_us && search.undecided)
    decide_on_compiling(context_, queue_, shape, *outcome.incumbent_us, place.left);
  if (outcome.event == ShapeEvent::kStaysEager) {
    ++context_.figures.refusals;
    failures_.report_not_tried(context_.config.lane, outcome.reason);
  }
  if (outcome.event == ShapeEvent::kAdopted) report_adoption(context_, shape, outcome, place.number);
  if (outcome.event == ShapeEvent::kRejected) learn_rejection(shape, outcome);
  const bool tried_out = outcome.from == StateId::kTrialling && outcome.event;
  if (tried_out && !outcome.key.empty() && !shape.is_member()) {
    search.recipe_us[search.recipe] = outcome.candidate_us;
    if (!search.undecided && !search.compiling) compile_next(context_, queue_, shape);
  }
  if (!shape.is(StateId::kSearching) || is_pending(context_, shape)) return;
  shape.enter(ShapeEvent::kSearchEnded, Settled{});
  groups_.offer_to_members(shape);
}

void CandidateSearch::learn_rejection(StepShape& shape, const StepOutcome& outcome) {
  failures_.reject(outcome.lane, outcome.key, outcome.rejection);
  if (outcome.rejection.cause == Rejection::Cause::kNotFaster || outcome.key.empty()) return;
  shape.search.rejected = true;
  shape.search.tried_uncompiled = false;  // try it again: it may now be the best
  const bool candidate = outcome.from == StateId::kChecking;
  if (candidate || outcome.rejection.cause == Rejection::Cause::kErred) groups_.withdraw(shape, outcome.key);
  if (!candidate) return;
  std::erase_if(shape.search.wanted, [&](const Variant& variant) { return variant.key == outcome.key; });
  if (!shape.search.undecided) compile_next(context_, queue_, shape);
}

std::optional<Lane> CandidateSearch::uncompiled(const StepShape& shape, Batch microbatches) {
  auto lane = make_uncompiled_lane(context_, *shape.program, microbatches);
  if (lane) return std::move(*lane);
  if (lane.error().cause != LaneFailure::Cause::kResources) return std::nullopt;
  // Most likely out of memory: a run that fits in eager continues in eager.
  ++context_.figures.refusals;
  failures_.report_not_tried(lane.error().lane, lane.error().reason);
  return std::nullopt;
}

// The cached program of the step. If there is none it is compiled; in lane compiled the run waits for it, in auto the
// decision is deferred until the step's own time is known.
std::optional<Lane> CandidateSearch::begin(StepShape& shape, Batch microbatches) {
  LaneSearch& search = shape.search;
  const LaneId lane = context_.config.lane;
  if (lane != LaneId::kAuto && lane != LaneId::kCompiled) return std::nullopt;
  if (!context_.can_compile()) {
    failures_.report_no_compiler();
    return std::nullopt;
  }
  if (context_.config.compile.dynamic) groups_.join(shape, microbatches);
  if (shape.is_member()) return std::nullopt;
  std::string wrong = list_variants(context_, shape);
  if (search.wanted.empty() && shape.group != nullptr) {
    groups_.dissolve(*shape.group, "it was compiled before and quarantined: " + wrong);
    search.begun = true;
    wrong = list_variants(context_, shape);
  }
  if (search.wanted.empty()) {
    failures_.report_no_compiler("quarantined", "the program was compiled before and quarantined: " + wrong);
    return std::nullopt;
  }
  const Variant best = search.wanted.front();
  auto loaded = load(shape, best, microbatches, Absence::kOrdinary);
  const bool full = search.in_full.contains(best.recipe);
  const bool found = loaded && (lane == LaneId::kAuto || full);
  ++(found ? context_.figures.cache_hits : context_.figures.cache_misses);
  if (search.wanted.empty()) return std::nullopt;  // this machine cannot load it
  if (found) search.wanted.clear();
  if (found && full) return loaded;
  if (lane == LaneId::kAuto) {
    if (found) search.wanted.push_back({best.recipe, CompileEffort::kFull, best.key});
    search.undecided = true;
    return loaded;
  }
  auto waited = wait_for_compiled(shape, microbatches);
  return waited ? std::move(waited) : std::move(loaded);
}

// If lane compiled was selected by name, the run waits, so that it starts at the same step however long compiling
// takes.
std::optional<Lane> CandidateSearch::wait_for_compiled(StepShape& shape, Batch microbatches) {
  LaneSearch& search = shape.search;
  search.wanted.resize(1);
  search.wanted.front().effort = CompileEffort::kFull;
  compile_next(context_, queue_, shape);
  const auto [end, outcome] = queue_.wait(search.compiling->key);
  if (end != CompileWait::End::kInterrupted) return take_compiled(shape, outcome, microbatches);
  search.compiling.reset();  // the run is about to stop, and the compiler with it
  return std::nullopt;
}

std::optional<Lane> CandidateSearch::poll(StepShape& shape, Batch microbatches) {
  const auto outcome = queue_.poll(shape.search.compiling->key);
  if (!outcome) return std::nullopt;
  const PreparationTime preparing(context_);
  return take_compiled(shape, outcome, microbatches);
}

// outcome: empty if the compiler did not finish in time.
std::optional<Lane> CandidateSearch::take_compiled(StepShape& shape,
                                                   const std::optional<program::CompileOutcome>& outcome,
                                                   Batch microbatches) {
  LaneSearch& search = shape.search;
  const Variant variant = *std::exchange(search.compiling, std::nullopt);
  if (!outcome) {
    failures_.report_no_compiler("timeout", "the compiler did not finish in time");
    return std::nullopt;
  }
  if (outcome->failure) {
    if (!is_of_one_recipe(*outcome->failure)) search.wanted.clear();
    const bool of_program = *outcome->failure == program::CompileFailure::kFailed;
    if (shape.group != nullptr && of_program && search.wanted.empty() && search.recipe_us.empty()) {
      groups_.dissolve(*shape.group, outcome->reason);
      return std::nullopt;
    }
    failures_.report_no_compiler(std::string(base::name_of(*outcome->failure)), outcome->reason);
    compile_next(context_, queue_, shape);
    return std::nullopt;
  }
  auto lane = load(shape, variant, microbatches, Absence::kLoss);
  if (!lane) compile_next(context_, queue_, shape);
  return lane;
}

// Once the leader has settled on a program, the members try it.
std::optional<Lane> CandidateSearch::take_shared(StepShape& shape, Batch microbatches) {
  LaneSearch& search = shape.search;
  const StepShape& leader = *shape.group->leader;
  if (shape.runs_compiled()) search.took_shared = true;  // a resumed run found it in its journal
  if (search.took_shared || !leader.is(StateId::kSettled) || !leader.runs_compiled()) return std::nullopt;
  search.took_shared = true;
  const PreparationTime preparing(context_);
  const Variant variant{leader.search.recipe, CompileEffort::kFull, leader.incumbent->key()};
  auto lane = load(shape, variant, microbatches, Absence::kLoss);
  if (lane) ++context_.figures.cache_hits;
  return lane;
}

// The same program may have been found to be wrong, or to fail, while it was compiled.
std::optional<Lane> CandidateSearch::load(StepShape& shape, const Variant& variant, Batch microbatches,
                                          Absence absence) {
  program::PackageCache& cache = context_.services.compile_service->cache();
  if (const auto reason = cache.why_unusable(variant.key)) {
    failures_.report_not_tried(config::Lane::kCompiled, "it was quarantined while it was compiled: " + *reason);
    return std::nullopt;
  }
  auto cached = load_cached(context_, failures_, shape.to_compile(), variant.key, microbatches, absence);
  if (!cached) {
    // What this machine lacks for one package it lacks for the others.
    if (cached.error().cause == LaneFailure::Cause::kResources) shape.search.wanted.clear();
    return std::nullopt;
  }
  shape.search.recipe = variant.recipe;
  if (cached->effort == CompileEffort::kFull) shape.search.in_full.insert(variant.recipe);
  return std::move(cached->lane);
}

}  // namespace esper::lanes
