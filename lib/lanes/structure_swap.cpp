#include "lanes/structure_swap.h"

#include <algorithm>

#include "base/error.h"
#include "lanes/lane/recording.h"
#include "lanes/shape/uncompiled_lane.h"

namespace esper::lanes {
namespace {

using LaneId = config::Lane;
using program::CompileEffort;

KnownStep known_step(StepShape& shape) {
  KnownStep step{shape.name, *shape.program};
  // A candidate in a trial has agreed with eager.
  const Lane* const tried = shape.is(StateId::kTrialling) ? shape.candidate() : nullptr;
  const bool runs_in_eager = !shape.incumbent && (tried == nullptr || !tried->key().empty());
  step.replay_agreed = shape.replay_agrees && !runs_in_eager;
  const Lane* const compiled = shape.runs_compiled() ? &*shape.incumbent : tried;
  if (compiled != nullptr && !compiled->key().empty()) {
    const bool full = shape.search.in_full.contains(shape.search.recipe) || shape.is_member();
    step.ready = compiled->loaded();
    step.variant = {shape.search.recipe, full ? CompileEffort::kFull : CompileEffort::kQuick, step.ready->key};
  }
  return step;
}

// A compiled program whose turn in a trial a resumed run repeats is not.
bool has_adopted(const StepShape& shape) {
  return shape.incumbent && !(shape.is(StateId::kFollowing) && shape.recorded.on_trial);
}

}  // namespace

LaneId lane_in_use(const LaneContext& context, const ShapeSet& shapes) {
  const LaneKind* best = context.kind(LaneId::kEager);  // of the table, whose order is that of speed
  for (const auto& shape : shapes.shapes()) {
    if (has_adopted(*shape)) best = std::max(best, context.kind(shape->incumbent->kind()));
  }
  return best->id;
}

StructureInUse structure_in_use(const LaneContext& context, const ShapeSet& shapes, const std::string& structure) {
  StructureInUse in_use{structure, lane_in_use(context, shapes), {{}, shapes.each_size_alone}};
  for (const auto& shape : shapes.shapes()) {
    if (shape->runs_compiled() && !shape->is_member()) in_use.compiled.recipe = shape->search.recipe;
    in_use.compiling |= shape->search.compiling.has_value();
  }
  return in_use;
}

KnownStructure knowledge_of(const ShapeSet& shapes, const std::string& structure, double prepare_ms) {
  KnownStructure known{structure};
  known.prepare_ms = prepare_ms;
  for (const auto& group : shapes.groups()) known.groups.push_back(group->program);
  for (const auto& shape : shapes.shapes()) {
    if (!shape->program) continue;
    known.steps.push_back(known_step(*shape));
    for (std::size_t i = 0; i < known.groups.size(); ++i) {
      if (shape->group == shapes.groups()[i].get()) known.steps.back().group = i;
    }
  }
  return known;
}

void drop_shapes(const LaneContext& context, ShapeSet& shapes, CompileQueue& queue) {
  for (const auto& shape : shapes.shapes()) {
    if (shape->search.compiling) queue.give_up(shape->search.compiling->key);
  }
  shapes.clear();
  context.capture.forget_failures();
}

bool StructureInstaller::install(const KnownStructure& known, const DryRun::Examples& examples, LaneId kind,
                                 std::int64_t number) {
  for (const KnownStep& step : known.steps) {
    const auto example = examples.find(step.shape);
    if (example == examples.end()) continue;
    StepShape& shape = shapes_.add(context_.model.network.structure_version(), example->second.batch);
    shape.next_check = machine_.checks().next_after(journal_.restore(shape, number));
    shape.program = step.program;
    shape.replay_agrees = step.replay_agreed;
    if (!journal_.follows(shape, number)) shape.enter(ShapeEvent::kInstalled, Searching{});
  }
  install_groups(known, examples);
  for (const auto& shape : shapes_.shapes()) {
    if (!shape->is(StateId::kSearching)) {  // it follows the journal
      shape->enter(ShapeEvent::kFollow, Following{});
      continue;
    }
    const auto step = std::ranges::find(known.steps, shape->name, &KnownStep::shape);
    install(*shape, *step, known.structure, examples.at(shape->name).batch, kind);
  }
  return !shapes_.empty();
}

void StructureInstaller::install_groups(const KnownStructure& known, const DryRun::Examples& examples) {
  std::vector<ShapeGroup*> groups;
  for (const auto& program : known.groups) groups.push_back(&shapes_.add_group({program, nullptr, 0}));
  for (const auto& shape : shapes_.shapes()) {
    const auto step = std::ranges::find(known.steps, shape->name, &KnownStep::shape);
    if (!step->group) continue;
    ShapeGroup& group = *groups[*step->group];
    const std::int64_t n = batch_size_of(examples.at(shape->name).batch);
    shape->group = &group;
    if (group.leader == nullptr || n > group.leader_size) {
      group.leader = shape.get();
      group.leader_size = n;
    }
  }
  shapes_.drop_leaderless_groups();
}

void StructureInstaller::install(StepShape& shape, const KnownStep& known, const std::string& structure,
                                 std::span<const step::Microbatch> example, LaneId kind) {
  LaneSearch& search = shape.search;
  search.begun = true;
  if (known.ready && kind == LaneId::kCompiled) return run_compiled(shape, known, example);
  if (context_.config.lane == LaneId::kCompiled) {  // its package is unusable: eager
    search.begun = !known.variant.key.empty() || known.unavailable;
    return;
  }
  if (known.replay_agreed) {
    search.tried_uncompiled = true;
    auto lane = make_uncompiled_lane(context_, *shape.program, example);
    if (!lane && lane.error().cause == LaneFailure::Cause::kResources) {
      throw NotPreparable(lane.error().reason, lane.error().of_memory);
    }
    if (lane) shape.incumbent = std::move(*lane);
  }
  if (context_.config.lane != LaneId::kAuto) return;
  if (!shape.incumbent) {  // it was left before a lane was compared
    search.begun = shape.is_member() || known.unavailable;
  } else if (known.ready) {  // it agrees with eager; a trial decides whether it is faster
    search.recipe = known.variant.recipe;
    search.in_full.insert(search.recipe);
    machine_.challenge(shape, compiled(shape, known, example));
    shape.enter(ShapeEvent::kAgreed, Trialling{std::move(*shape.candidate())});
  } else if (const auto ahead = queue_.take_over(structure, shape.name)) {
    search.compiling = *ahead;
  } else if (!shape.is_member() && !known.unavailable) {
    search.begun = false;
  }
}

Lane StructureInstaller::compiled(const StepShape& shape, const KnownStep& known,
                                  std::span<const step::Microbatch> example) const {
  auto lane = make_lane(*context_.kind(LaneId::kCompiled), {*shape.program, *known.ready}, context_.model, example,
                        context_.setup());
  if (lane) return std::move(*lane);
  throw NotPreparable(lane.error().reason, lane.error().of_memory);
}

void StructureInstaller::run_compiled(StepShape& shape, const KnownStep& known,
                                      std::span<const step::Microbatch> example) {
  LaneSearch& search = shape.search;
  shape.incumbent = compiled(shape, known, example);
  search.tried_uncompiled = search.took_shared = true;
  search.recipe = known.variant.recipe;
  if (known.variant.effort == CompileEffort::kFull) {
    search.in_full.insert(search.recipe);
  } else if (context_.config.lane == LaneId::kAuto && !shape.is_member()) {
    search.wanted.push_back({search.recipe, CompileEffort::kFull, known.variant.key});
    search.undecided = true;
  }
}

}  // namespace esper::lanes
