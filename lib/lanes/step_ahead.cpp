// The steps of structures that may come, compiled when the compiler has nothing else to do.

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "lanes/compile_wait.h"
#include "lanes/step_preparer.h"
#include "leyline/telemetry.h"

namespace esper::lanes {
namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using program::CompileEffort;
using namespace leyline::literals;

}  // namespace

// As for the step in use: what is left of the run has to earn a compilation.
bool StepPreparer::pays(const KnownStep& step, const StructureInUse& in_use, std::int64_t steps_left) const {
  if (config_.lane == Lane::kCompiled) return true;
  if (in_use.lane != Lane::kCompiled) return false;
  const auto example = examples_.find(step.shape);
  const std::int64_t left = example == examples_.end() ? 0 : std::min(example->second.left, steps_left);
  return weigh_compiling(step.program, figures_.steady_step_us, left).worth;
}

// One at a time.
void StepPreparer::submit(KnownStructure& known, const KnownStep& step) {
  if (ahead_) return;
  services_.desk->submit(known.to_compile(step), step.variant.recipe, CompileEffort::kFull);
  ++figures_.pending;
  ++figures_.cache_misses;
  ahead_ = Ahead{known.structure, step.shape, step.variant};
  services_.tell(event("tolaria.compile_started"_event, Level::kInfo,
                       {{"key", step.variant.key}, {"operators", std::to_string(step.program.operations.size())}}));
}

void StepPreparer::take_compiled() {
  if (!ahead_) return;
  const auto outcome = services_.desk->poll(ahead_->variant.key);
  if (outcome && !was_cancelled(*outcome)) note_compiled(*outcome);
}

void StepPreparer::note_compiled(const program::CompileOutcome& outcome) {
  const Ahead ahead = *std::exchange(ahead_, std::nullopt);
  --figures_.pending;
  KnownStructure* known = library_.find(ahead.structure);
  if (outcome.failure) {
    if (known != nullptr) give_up_package(*known, ahead.variant.key);
    return trouble_.tell_no_compiler(std::string(base::name_of(*outcome.failure)), outcome.reason);
  }
  figures_.compile_ms = outcome.compile_ms;
  services_.tell(compile_finished(outcome));
  if (known == nullptr) return;
  for (KnownStep& step : known->steps) step.in_cache |= step.variant.key == ahead.variant.key;
}

std::optional<Variant> StepPreparer::take_over(const std::string& key) {
  if (!ahead_ || ahead_->variant.key != key) return std::nullopt;
  return std::exchange(ahead_, std::nullopt)->variant;
}

std::optional<Variant> StepPreparer::take_over(const std::string& structure, const std::string& shape) {
  if (!ahead_ || ahead_->structure != structure || ahead_->shape != shape) return std::nullopt;
  return std::exchange(ahead_, std::nullopt)->variant;
}

// The structure in use wants the compiler.
void StepPreparer::yield() {
  if (!ahead_) return;
  services_.desk->cancel(ahead_->variant.key);
  ahead_.reset();
  --figures_.pending;
}

void StepPreparer::wait(KnownStructure& known, const KnownStep& step) {
  const std::string key = step.variant.key;
  if (ahead_ && ahead_->variant.key != key) yield();
  submit(known, step);
  if (!ahead_) return;
  const auto [end, outcome] = wait_for_program(services_, key);
  if (end == CompileWait::End::kOutcome) return note_compiled(*outcome);
  yield();  // where the run is about to stop, the compiler does with it
  if (end == CompileWait::End::kLate) trouble_.tell_no_compiler("timeout", "the compiler gave no answer in time");
}

}  // namespace esper::lanes
