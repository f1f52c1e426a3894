// step.compile.dynamic: shapes that differ in the batch size alone share one compiled program.

#include "lanes/step_runner.h"
#include "lanes/step_sizes.h"
#include "leyline/telemetry.h"

namespace esper::lanes {
namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using program::SymbolicProgram;
using namespace leyline::literals;

bool has_begun(const StepPlan& plan) {
  const bool tries = plan.challenger && plan.challenger->lane() == Lane::kCompiled;
  return plan.compiling || tries || plan.runs_compiled();
}

bool is_settled(const StepPlan& plan) {
  return plan.recorded && !plan.challenger && !plan.compiling && !plan.undecided && plan.wanted.empty();
}

}  // namespace

void StepRunner::tell_not_dynamic(const std::string& reason) {
  tell(event("tolaria.lane_refused"_event, Level::kWarning,
             {{"lane", "compiled"}, {"reason", "no program for all batch sizes, each has its own: " + reason}}));
}

// The plan's program has to be an instance of the family's, to the last number.
void StepRunner::join_family(StepPlan& plan, Batch microbatches) {
  if (plan.family != nullptr || no_families_) return;
  const std::int64_t n = batch_size_of(microbatches);
  for (const auto& family : families_) {
    if (!family->program.covers(n) || family->program.at(n) != *plan.program) continue;
    plan.family = family.get();
    StepPlan& founder = *family->founder;
    // The batch that most steps have is what a compilation has to pay for.
    if (n > family->founder_size && !has_begun(founder)) {
      founder.wanted.clear();
      founder.undecided = false;
      family->founder = &plan;
      family->founder_size = n;
    }
    return;
  }
  found_family(plan, microbatches, n);
}

void StepRunner::found_family(StepPlan& plan, Batch microbatches, std::int64_t n) {
  const Preparing preparing(*this);
  std::string reason;
  try {
    auto symbolic = record_for_all_sizes(model_, microbatches, *plan.program, forward_);
    if (symbolic) {
      families_.push_back(std::make_unique<StepFamily>(StepFamily{*std::move(symbolic), &plan, n}));
      plan.family = families_.back().get();
      return;
    }
    reason = symbolic.error();
  } catch (const c10::Error& error) {
    reason = error.what_without_backtrace();  // most likely memory
  }
  tell_not_dynamic(reason);
}

// Once the founder has settled on a program, the others try that one.
void StepRunner::take_shared(StepPlan& plan, Batch microbatches) {
  const StepPlan& founder = *plan.family->founder;
  if (plan.runs_compiled()) plan.took_shared = true;  // a resumed run found it in its notes
  if (plan.took_shared || plan.challenger || !is_settled(founder) || !founder.runs_compiled()) return;
  plan.took_shared = true;
  const Preparing preparing(*this);
  const Variant shared{founder.recipe, program::CompileEffort::kFull, founder.incumbent->key()};
  if (load_cached(plan, shared, microbatches)) ++figures_.cache_hits;
}

// No program for all sizes can be had: from the next step on each shape asks for its own.
void StepRunner::give_up_family(const StepFamily& family, const std::string& reason) {
  no_families_ = true;
  tell_not_dynamic(reason);
  for (const auto& plan : plans_) {
    if (plan->family != &family) continue;
    plan->family = nullptr;
    plan->recorded = false;
    plan->in_full.clear();
    plan->recipe_us.clear();
  }
}

// What is wrong at one size is trusted at none.
void StepRunner::drop_shared(const StepPlan& plan, const std::string& key) {
  if (plan.family == nullptr) return;
  for (const auto& other : plans_) {
    if (other->family != plan.family) continue;
    for (auto* lane : {&other->incumbent, &other->challenger}) {
      if (!*lane || (*lane)->key() != key) continue;
      lane->reset();
      other->tried_uncompiled = false;
    }
  }
}

}  // namespace esper::lanes
