// When a step is compiled, and how its programs come into use.

#include "base/file_system.h"
#include "base/names.h"
#include "base/text/rounding.h"
#include "lanes/compile_wait.h"
#include "lanes/step_runner.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::milliseconds;

namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using program::CompileEffort;
using namespace leyline::literals;

// A compilation takes this long where nothing is warm, and a compiled step saves about this share of a step. It goes on
// beside the training, so what it has to earn back is the disturbance, not its time; with both guesses off by a factor
// of two the decision still costs less than it brings.
constexpr double kCompileSeconds = 10, kSecondsPerOperator = 0.03;
constexpr double kShareSaved = 0.3;

// The next one may still be compiled, and the winner with full effort.
bool is_of_one_recipe(program::CompileFailure failure) {
  using F = program::CompileFailure;
  return failure == F::kFailed || failure == F::kTimeout || failure == F::kOutOfMemory || failure == F::kCrashed;
}

std::string whole(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

}  // namespace

CompilingWeighed weigh_compiling(const program::Program& program, double step_us, std::int64_t steps_left) {
  const double left_s = step_us * 1e-6 * static_cast<double>(steps_left);
  const double cost_s = kCompileSeconds + kSecondsPerOperator * static_cast<double>(program.operations.size());
  return {left_s * kShareSaved > cost_s, left_s, cost_s};
}

void StepRunner::want_compiled(StepPlan& plan, Batch microbatches) {
  const bool wanted = config_.lane == Lane::kAuto || config_.lane == Lane::kCompiled;
  if (!wanted || !plan.program) return;
  if (services_.desk == nullptr || !services_.desk->problem().empty()) {
    return trouble_.tell_no_compiler(
        "unavailable", services_.desk == nullptr ? "there is no Python; run scripts/bootstrap, or name one with torch "
                                                   "in ESPER_PYTHON"
                                                 : services_.desk->problem());
  }
  if (config_.compile.dynamic) join_family(plan, microbatches);
  if (plan.is_follower()) return take_shared(plan, microbatches);
  std::string wrong = list_variants(plan);
  if (plan.wanted.empty() && plan.family != nullptr) {
    give_up_family(*plan.family, "it was compiled before and quarantined: " + wrong);
    plan.recorded = true;
    wrong = list_variants(plan);
  }
  if (plan.wanted.empty()) {
    return trouble_.tell_no_compiler("quarantined", "the program was compiled before and quarantined: " + wrong);
  }
  const Variant best = plan.wanted.front();
  const bool loaded = load_cached(plan, best, microbatches), full = plan.in_full.contains(best.recipe);
  const bool found = loaded && (config_.lane == Lane::kAuto || full);
  ++(found ? figures_.cache_hits : figures_.cache_misses);
  if (found) plan.wanted.clear();
  if (found && full) return;
  if (config_.lane == Lane::kAuto) {
    if (found) plan.wanted.push_back({best.recipe, CompileEffort::kFull, best.key});
    plan.undecided = true;
  } else if (!found) {
    wait_for_compiled(plan, microbatches);
  }
}

// Fills plan.wanted with what is not known to be wrong; says of the last one that is, why.
std::string StepRunner::list_variants(StepPlan& plan) {
  std::string wrong;
  const program::SymbolicProgram program = plan.to_compile();
  // Where kernels are chosen by timing, two compilations need not compute the same bits, and one key names both.
  const bool by_timing = config_.compile.mode == config::CompileMode::kMaxAutotune;
  const CompileEffort first_effort = by_timing ? CompileEffort::kFull : CompileEffort::kQuick;
  for (const std::string& recipe : services_.desk->recipes(program)) {
    const std::string key = services_.desk->key(program, recipe);
    if (const auto reason = services_.desk->found_wrong(key)) {
      wrong = *reason;
    } else {
      plan.wanted.push_back({recipe, first_effort, key});
    }
  }
  return wrong;
}

// The lane that was asked for by name begins at the same step whenever the program is compiled: the run waits.
void StepRunner::wait_for_compiled(StepPlan& plan, Batch microbatches) {
  const Preparing preparing(*this);
  plan.wanted.resize(1);
  plan.wanted.front().effort = CompileEffort::kFull;
  compile_next(plan);
  const std::string key = plan.compiling->key;
  const auto [end, outcome] = wait_for_program(services_, key);
  if (end != CompileWait::End::kOutcome) services_.desk->cancel(key);
  if (end != CompileWait::End::kInterrupted) return finish_compilation(plan, outcome, microbatches);
  plan.compiling.reset();  // the run is about to stop, and the compiler with it
  --figures_.pending;
}

// Weighs what is left of the run against a compilation, once the step's own time is known.
void StepRunner::decide_on_compiling(StepPlan& plan, double step_us, std::int64_t steps_left) {
  plan.undecided = false;
  const auto [worth, left_s, cost_s] = weigh_compiling(*plan.program, step_us, steps_left);
  std::string reason = worth ? "prepared" : "left out";
  reason += ": about " + whole(left_s) + " s of steps are left, and a compilation takes about " + whole(cost_s) + " s";
  tell(event("tolaria.lane_chosen"_event, Level::kInfo,
             {{"lane", "compiled"}, {"steps_left", std::to_string(steps_left)}, {"reason", reason}}));
  if (worth) return compile_next(plan);
  plan.wanted.clear();
  plan.wants_full = false;
}

void StepRunner::compile_next(StepPlan& plan) {
  if (plan.wanted.empty()) choose_recipe(plan);
  if (plan.wanted.empty()) return;
  if (const auto ahead = preparer_.take_over(plan.wanted.front().key)) {  // it is being compiled already
    plan.wanted.pop_front();
    plan.compiling = *ahead;
    return;
  }
  preparer_.yield();
  plan.compiling = plan.wanted.front();
  plan.wanted.pop_front();
  services_.desk->submit(plan.to_compile(), plan.compiling->recipe, plan.compiling->effort);
  ++figures_.pending;
  tell(event("tolaria.compile_started"_event, Level::kInfo,
             {{"key", plan.compiling->key}, {"operators", std::to_string(plan.program->operations.size())}}));
}

void StepRunner::take_compiled(StepPlan& plan, Batch microbatches) {
  if (plan.challenger) return;
  const auto outcome = services_.desk->poll(plan.compiling->key);
  if (!outcome || was_cancelled(*outcome)) return;
  const Preparing preparing(*this);
  finish_compilation(plan, outcome, microbatches);
}

void StepRunner::finish_compilation(StepPlan& plan, const std::optional<program::CompileOutcome>& outcome,
                                    Batch microbatches) {
  const Variant variant = *plan.compiling;
  plan.compiling.reset();
  --figures_.pending;
  if (!outcome) return trouble_.tell_no_compiler("timeout", "the compiler gave no answer in time");
  tell_not_used(outcome->not_used);
  if (outcome->failure) {
    if (!is_of_one_recipe(*outcome->failure)) plan.wanted.clear();
    const bool of_program = *outcome->failure == program::CompileFailure::kFailed;
    if (plan.family != nullptr && of_program && plan.wanted.empty() && plan.recipe_us.empty()) {
      return give_up_family(*plan.family, outcome->reason);
    }
    trouble_.tell_no_compiler(std::string(base::name_of(*outcome->failure)), outcome->reason);
    return compile_next(plan);
  }
  figures_.compile_ms = outcome->compile_ms;
  tell(compile_finished(*outcome));
  if (!load_cached(plan, variant, microbatches)) compile_next(plan);
}

void StepRunner::tell_not_used(const std::vector<std::string>& files) {
  if (files.empty()) return;
  figures_.quarantined += static_cast<std::int64_t>(files.size());
  tell(event("tolaria.compile_runtime_fallback"_event, Level::kWarning,
             {{"error", std::to_string(files.size()) +
                            " files that earlier compilations kept were made anew: their authentication code is wrong, "
                            "so they are damaged or were made under another key; the first is " +
                            files.front()}}));
}

// Makes the package the challenger; false where the cache does not have it, or it does not load.
bool StepRunner::load_cached(StepPlan& plan, const Variant& variant, Batch microbatches) {
  const auto begin = services_.clock.now();
  const auto damaged_before = services_.desk->damaged();
  const auto cached = services_.desk->find(variant.key);
  const auto put_away = [&](const std::string& error) {
    ++figures_.quarantined;
    tell(event("tolaria.compile_runtime_fallback"_event, Level::kWarning, {{"error", error}}));
  };
  if (!cached) {
    if (services_.desk->damaged() > damaged_before) put_away(services_.desk->last_damage());
    return false;
  }
  try {
    challenge(plan, load_package(plan, microbatches, cached->file.path(), variant.key));
  } catch (const base::IoError& error) {  // a full disk: the package may be good
    tell(event("tolaria.compile_runtime_fallback"_event, Level::kWarning, {{"error", error.what()}}));
    return false;
  } catch (const base::Error& error) {
    services_.desk->quarantine(variant.key, program::EntryFault::kDamaged, error.what());
    put_away(error.what());
    return false;
  } catch (const std::exception& error) {  // most likely memory
    tell(event("tolaria.compile_runtime_fallback"_event, Level::kWarning, {{"error", error.what()}}));
    return false;
  }
  plan.recipe = variant.recipe;
  if (cached->facts.effort == base::name_of(CompileEffort::kFull)) plan.in_full.insert(variant.recipe);
  tell(event("tolaria.compile_cache_hit"_event, Level::kInfo,
             {{"key", variant.key}, {"load_ms", whole(milliseconds(services_.clock.now() - begin))}}));
  return true;
}

// After a trial of a compiled program: the next lowering has its turn.
void StepRunner::note_recipe(StepPlan& plan, double step_us) {
  if (plan.is_follower()) return;
  plan.recipe_us[plan.recipe] = step_us;
  if (!plan.undecided && !plan.compiling) compile_next(plan);
}

// When every lowering had its turn, however it ended: the fastest of those that came to a trial is compiled with full
// effort, unless it is already.
void StepRunner::choose_recipe(StepPlan& plan) {
  if (plan.recipe_us.empty()) return;
  const auto winner = std::ranges::min_element(plan.recipe_us, {}, [](const auto& item) { return item.second; });
  if (plan.recipe_us.size() > 1) services_.desk->remember_winner(plan.to_compile(), winner->first, plan.recipe_us);
  if (!std::exchange(plan.wants_full, false) || plan.in_full.contains(winner->first)) return;
  plan.wanted.push_back({winner->first, CompileEffort::kFull, services_.desk->key(plan.to_compile(), winner->first)});
}

}  // namespace esper::lanes
