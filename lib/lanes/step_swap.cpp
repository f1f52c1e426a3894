// A change of the network's structure between two steps: what is known of the structure that came is brought into use.

#include <algorithm>

#include "base/interrupt.h"
#include "base/names.h"
#include "base/statistics.h"
#include "base/text/rounding.h"
#include "lanes/lane_comparison.h"
#include "lanes/step_runner.h"
#include "lanes/step_sizes.h"
#include "lanes/structure.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::digits;
using base::Interrupt;
using base::milliseconds;

namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using program::CompileEffort;
using namespace leyline::literals;

// So many steps after a change of structure are timed.
constexpr std::size_t kWatchedSteps = 20;

int rank_of(Lane lane) {
  switch (lane) {
    case Lane::kReplay:
      return 1;
    case Lane::kGraph:
      return 2;
    case Lane::kCompiled:
      return 3;
    default:
      return 0;
  }
}

KnownStep known_step(const StepPlan& plan) {
  KnownStep step{plan.shape, *plan.program};
  const FastLane* const tried = plan.challenger && plan.challenger_checked ? &*plan.challenger : nullptr;
  step.replay_agreed = plan.incumbent.has_value() || (tried != nullptr && tried->lane() != Lane::kCompiled);
  const FastLane* const compiled = plan.runs_compiled() ? &*plan.incumbent : tried;
  if (compiled != nullptr && compiled->lane() == Lane::kCompiled) {
    const bool full = plan.in_full.contains(plan.recipe) || plan.is_follower();
    step.ready = compiled->loaded();
    step.variant = {plan.recipe, full ? CompileEffort::kFull : CompileEffort::kQuick, step.ready->key};
  }
  return step;
}

// Lane compiled, told to stop while it waited for this program: the resumed run waits for it again, so that its steps
// have the bits that they would have had. Else empty.
std::string awaited_key(const KnownStructure* known, const std::string& shape) {
  if (known == nullptr) return {};
  const auto step = std::ranges::find(known->steps, shape, &KnownStep::shape);
  return step != known->steps.end() && step->waits_for_package() ? step->variant.key : std::string();
}

}  // namespace

// The fastest that any shape runs in.
Lane StepRunner::lane_in_use() const {
  Lane best = Lane::kEager;
  for (const auto& plan : plans_) {
    if (plan->incumbent && rank_of(plan->incumbent->lane()) > rank_of(best)) best = plan->incumbent->lane();
  }
  return best;
}

StructureInUse StepRunner::in_use() const {
  StructureInUse in_use{structure_, lane_in_use(), {}, false, no_families_};
  for (const auto& plan : plans_) {
    if (plan->runs_compiled() && !plan->is_follower()) in_use.recipe = plan->recipe;
    in_use.compiling |= plan->compiling.has_value();
  }
  return in_use;
}

void StepRunner::prepare(std::span<const LikelyChange> likely, std::int64_t steps_left) {
  const bool may = preparer_.is_on() && !plans_.empty();
  if (!may || plans_.front()->structure != model_.network.structure_version()) return;
  const Preparing preparing(*this);
  preparer_.prepare(in_use(), likely, steps_left);
}

void StepRunner::take_structure(std::int64_t number) {
  if (!preparer_.is_on() || plans_.empty() || plans_.front()->structure == model_.network.structure_version()) return;
  tell_swap();
  preparer_.give_up_rehearsal();
  const Preparing preparing(*this);
  const Lane kind = lane_in_use();
  leave_structure();
  structure_ = structure_of(model_);
  if (config_.lane == Lane::kCompiled && kind == Lane::kCompiled) preparer_.finish(structure_);
  const auto begin = services_.clock.now();
  const KnownStructure* known = kind == Lane::kEager ? nullptr : preparer_.library().find(structure_);
  const bool prepared = known != nullptr && bring_in(*known, kind, number);
  note_swapped(number);
  const std::chrono::duration<double, std::micro> took = services_.clock.now() - begin;
  swap_ = Swap{number, prepared, prepared ? known->prepare_ms : 0, took.count(), {}};
}

void StepRunner::leave_structure() {
  KnownStructure left{structure_};
  if (const KnownStructure* before = preparer_.library().find(structure_)) left.prepare_ms = before->prepare_ms;
  for (const auto& family : families_) left.families.push_back(family->program);
  for (const auto& plan : plans_) {
    if (!plan->program) continue;
    left.steps.push_back(known_step(*plan));
    for (std::size_t i = 0; i < families_.size(); ++i) {
      if (plan->family == families_[i].get()) left.steps.back().family = i;
    }
  }
  drop_plans();
  if (!structure_.empty() && !left.steps.empty()) preparer_.library().put(std::move(left));
}

// False where it cannot be: the structure then starts as one of which nothing is known.
bool StepRunner::bring_in(const KnownStructure& known, Lane kind, std::int64_t number) {
  try {
    for (const KnownStep& step : known.steps) {
      const auto example = preparer_.examples().find(step.shape);
      if (example == preparer_.examples().end()) continue;
      StepPlan& plan = new_plan(example->second.batch, {number, example->second.left});
      plan.warmup_left = 0;
      plan.recorded = true;
      plan.program = step.program;
    }
    bring_in_families(known);
    for (const auto& plan : plans_) {
      const auto step = std::ranges::find(known.steps, plan->shape, &KnownStep::shape);
      bring_in(*plan, *step, kind);
    }
    return !plans_.empty();
  } catch (const std::exception& error) {
    drop_plans();
    preparer_.tell_unprepared("the structure that came", words_of(error));
    preparer_.library().drop(structure_);
    return false;
  }
}

void StepRunner::bring_in_families(const KnownStructure& known) {
  for (const auto& program : known.families) {
    families_.push_back(std::make_unique<StepFamily>(StepFamily{program, nullptr, 0}));
  }
  for (const auto& plan : plans_) {
    const auto step = std::ranges::find(known.steps, plan->shape, &KnownStep::shape);
    if (!step->family) continue;
    StepFamily& family = *families_[*step->family];
    const std::int64_t n = batch_size_of(preparer_.examples().at(plan->shape).batch);
    plan->family = &family;
    if (family.founder == nullptr || n > family.founder_size) {
      family.founder = plan.get();
      family.founder_size = n;
    }
  }
  std::erase_if(families_, [](const auto& family) { return family->founder == nullptr; });
}

// The kind of lane that was faster in the structure before is taken at once.
void StepRunner::bring_in(StepPlan& plan, const KnownStep& known, Lane kind) {
  const Batch example = preparer_.examples().at(plan.shape).batch;
  if (known.ready && kind == Lane::kCompiled) return run_ready(plan, known, example);
  if (config_.lane == Lane::kCompiled) {  // its package is no good: eager
    if (known.variant.key.empty() && !known.hopeless) want_compiled(plan, example);
    return;
  }
  if (known.replay_agreed && !run_uncompiled(plan, example)) return;
  if (config_.lane != Lane::kAuto || !plan.incumbent) return;
  if (known.ready) {  // it agrees with eager, and is to show that it is faster
    challenge(plan, FastLane::bound(*known.ready, *plan.program, model_, example));
    plan.challenger_checked = true;
    plan.recipe = known.variant.recipe;
    plan.in_full.insert(plan.recipe);
  } else if (const auto ahead = preparer_.take_over(structure_, plan.shape)) {
    plan.compiling = *ahead;
  } else if (!plan.is_follower() && !known.hopeless) {
    want_compiled(plan, example);
  }
}

void StepRunner::run_ready(StepPlan& plan, const KnownStep& known, Batch example) {
  plan.incumbent.emplace(FastLane::bound(*known.ready, *plan.program, model_, example));
  const bool graph = config_.compile.mode == config::CompileMode::kReduceOverhead;
  if (graph && may_capture()) capture(*plan.incumbent, example);
  plan.tried_uncompiled = plan.took_shared = true;
  plan.recipe = known.variant.recipe;
  if (known.variant.effort == CompileEffort::kFull) {
    plan.in_full.insert(plan.recipe);
  } else if (config_.lane == Lane::kAuto && !plan.is_follower()) {
    plan.wanted.push_back({plan.recipe, CompileEffort::kFull, known.variant.key});
    plan.undecided = true;
  }
}

// False where the lane that was asked for cannot be had.
bool StepRunner::run_uncompiled(StepPlan& plan, Batch example) {
  plan.tried_uncompiled = true;
  FastLane lane = FastLane::replay(*plan.program, model_, example);
  const bool graph = config_.lane == Lane::kGraph || (config_.lane == Lane::kAuto && device_.is_cuda());
  const bool captured = graph && may_capture() && capture(lane, example);
  if (config_.lane == Lane::kGraph && !captured) return false;
  plan.incumbent.emplace(std::move(lane));
  return true;
}

// The checkpoint of this moment is to begin with these bits. A resumed run that follows its notes has them already.
void StepRunner::note_swapped(std::int64_t number) {
  if (!services_.log.empty()) return;
  const bool stopped = config_.lane == Lane::kCompiled && Interrupt::requested() != 0;
  const KnownStructure* const known = stopped ? preparer_.library().find(structure_) : nullptr;
  for (auto& [shape, key] : bits_) {
    const auto plan = std::ranges::find_if(plans_, [&shape = shape](const auto& each) { return each->shape == shape; });
    const bool compiled = plan != plans_.end() && (*plan)->runs_compiled();
    const std::string now = compiled ? (*plan)->incumbent->key() : key.empty() ? key : awaited_key(known, shape);
    if (compiled) (*plan)->noted_bits = (*plan)->incumbent->bits();
    if (plan != plans_.end()) (*plan)->noted = now;
    if (key == now) continue;
    key = now;
    if (services_.note) services_.note(lane_note_json(shape, {number, now}));
  }
}

void StepRunner::note_step_time(base::Duration took) {
  swap_->step_ms.push_back(milliseconds(took));
  if (swap_->step_ms.size() == kWatchedSteps) tell_swap();
}

void StepRunner::tell_swap() {
  if (!swap_) return;
  const Swap swap = *std::exchange(swap_, std::nullopt);
  if (swap.step_ms.empty()) return;
  const double excess = *std::ranges::max_element(swap.step_ms) - base::median(swap.step_ms);
  ++figures_.swaps;
  figures_.prepare_ms = swap.prepare_ms;
  figures_.swap_us = swap.swap_us;
  figures_.stall_ms = swap.swap_us / 1e3 + excess;
  tell(event("tolaria.growth_swapped"_event, Level::kInfo,
             {{"step", std::to_string(swap.number)},
              {"lane", std::string(base::name_of(figures_.in_use))},
              {"prepared", swap.prepared ? "true" : "false"},
              {"prepare_ms", digits(figures_.prepare_ms, 4)},
              {"swap_us", digits(figures_.swap_us, 4)},
              {"stall_ms", digits(figures_.stall_ms, 4)}}));
}

}  // namespace esper::lanes
