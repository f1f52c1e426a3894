// The steps of structures that may come, compiled when the compiler has nothing else to do.

#include <algorithm>

#include "leyline/names.h"
#include "leyline/telemetry.h"
#include "tolaria/interrupt.h"
#include "tolaria/step_runner.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Lane;
using leyline::Level;
using program::CompileEffort;
using namespace leyline::literals;

constexpr leyline::Duration kLookForSignals = std::chrono::milliseconds(100);

}  // namespace

// As for the step in use: what is left of the run has to earn a compilation.
bool StepRunner::pays_ahead(const KnownStep& step, std::int64_t steps_left) const {
  if (config_.lane == Lane::kCompiled) return true;
  if (lane_in_use() != Lane::kCompiled) return false;
  const auto example = examples_.find(step.shape);
  const std::int64_t left = example == examples_.end() ? 0 : std::min(example->second.left, steps_left);
  return weigh_compiling(step.program, figures_.steady_step_us, left).worth;
}

// Behind whatever the structure in use wants, and one at a time.
void StepRunner::submit_ahead(KnownStructure& known, const KnownStep& step) {
  const bool busy = std::ranges::any_of(plans_, [](const auto& plan) { return plan->compiling.has_value(); });
  if (busy || ahead_) return;
  services_.desk->submit(known.to_compile(step), step.variant.recipe, CompileEffort::kFull);
  ++figures_.pending;
  ++figures_.cache_misses;
  ahead_ = Ahead{known.structure, step.shape, step.variant};
  tell(event("tolaria.compile_started"_event, Level::kInfo,
             {{"key", step.variant.key}, {"operators", std::to_string(step.program.operations.size())}}));
}

void StepRunner::take_ahead() {
  if (!ahead_) return;
  const auto outcome = services_.desk->poll(ahead_->variant.key);
  const bool over = outcome && outcome->failure != program::CompileFailure::kCancelled;
  if (over) note_compiled_ahead(*outcome);
}

void StepRunner::note_compiled_ahead(const program::CompileOutcome& outcome) {
  const Ahead ahead = *std::exchange(ahead_, std::nullopt);
  --figures_.pending;
  KnownStructure* known = library_.find(ahead.structure);
  if (outcome.failure) {
    if (known != nullptr) give_up_package(*known, ahead.variant.key);
    return tell_no_compiler(std::string(leyline::name_of(*outcome.failure)), outcome.reason);
  }
  figures_.compile_ms = outcome.compile_ms;
  tell(event("tolaria.compile_finished"_event, Level::kInfo,
             {{"key", ahead.variant.key},
              {"compile_ms", std::to_string(static_cast<std::int64_t>(outcome.compile_ms))},
              {"recipe", ahead.variant.recipe}}));
  if (known == nullptr) return;
  for (KnownStep& step : known->steps) step.in_cache |= step.variant.key == ahead.variant.key;
}

// What is compiled ahead is what the plan wants next.
bool StepRunner::take_over_ahead(StepPlan& plan) {
  if (!ahead_ || plan.wanted.empty() || ahead_->variant.key != plan.wanted.front().key) return false;
  plan.wanted.pop_front();
  plan.compiling = std::exchange(ahead_, std::nullopt)->variant;
  return true;
}

// The structure in use wants the compiler.
void StepRunner::yield_ahead() {
  if (!ahead_) return;
  services_.desk->cancel(ahead_->variant.key);
  ahead_.reset();
  --figures_.pending;
}

void StepRunner::wait_ahead(KnownStructure& known, const KnownStep& step) {
  const std::string key = step.variant.key;
  if (ahead_ && ahead_->variant.key != key) yield_ahead();
  submit_ahead(known, step);
  if (!ahead_) return;
  const auto end = services_.clock.now() + services_.desk->longest_wait();
  while (services_.clock.now() < end) {
    const auto outcome = services_.desk->wait(key, kLookForSignals);
    const bool over = outcome && outcome->failure != program::CompileFailure::kCancelled;
    if (over) return note_compiled_ahead(*outcome);
    if (Interrupt::requested() != 0) return yield_ahead();  // the run is about to stop, and the compiler with it
  }
  yield_ahead();
  tell_no_compiler("timeout", "the compiler gave no answer in time");
}

}  // namespace esper::tolaria
