#include "lanes/structure/precompilation.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/names.h"
#include "lanes/shape/compile_cost.h"

namespace esper::lanes {
namespace {

using LaneId = config::Lane;

// As for the step in use: the remaining steps have to pay for a compilation.
bool is_worth_compiling(const LaneContext& context, const KnownStep& step, const StepsToCome& steps) {
  if (context.config.lane == LaneId::kCompiled) return true;
  if (steps.lane != LaneId::kCompiled) return false;
  const auto example = steps.examples.find(step.shape);
  const std::int64_t left = example == steps.examples.end() ? 0 : std::min(example->second.left, steps.left);
  return weigh_compiling(step.program, context.figures.steady_step_us, left).pays;
}

}  // namespace

void precompile(const LaneContext& context, CompileQueue& queue, const KnownStructure& known,
                const StepsToCome& steps) {
  for (const KnownStep& step : known.steps) {
    const bool is_wanted = step.waits_for_package() && !step.in_cache && is_worth_compiling(context, step, steps);
    if (!is_wanted || queue.is_precompiling()) continue;
    const Precompilation ahead{known.structure, step.shape, step.variant};
    if (queue.precompile(known.to_compile(step), ahead)) ++context.figures.cache_misses;
  }
}

void take_precompiled(CompileQueue& queue, LaneFailures& failures, StructureLibrary& library) {
  const auto done = queue.poll_precompilation();
  if (!done) return;
  const auto& [ahead, outcome] = *done;
  if (outcome.failure) failures.report_no_compiler(std::string(base::name_of(*outcome.failure)), outcome.reason);
  KnownStructure* known = library.find(ahead.structure);
  if (known == nullptr) return;
  for (KnownStep& step : known->steps) {
    if (step.variant.key != ahead.variant.key) continue;
    step.in_cache |= !outcome.failure;
    step.unavailable |= outcome.failure.has_value();
  }
}

void wait_for_packages(DryRun& run, CompileQueue& queue, LaneFailures& failures, LaneFigures& figures) {
  std::set<std::string> waited;  // steps of several sizes may share a package
  for (KnownStep& step : run.known().steps) {
    if (!step.waits_for_package() || !waited.insert(step.variant.key).second) continue;
    if (queue.start(run.known().to_compile(step), step.variant)) ++figures.cache_misses;
    const auto [end, outcome] = queue.wait(step.variant.key);
    if (end == CompileWait::End::kLate) {
      failures.report_no_compiler("timeout", "the compiler did not finish in time");
    }
    if (end == CompileWait::End::kInterrupted) return;
    if (!outcome || !outcome->failure) continue;
    failures.report_no_compiler(std::string(base::name_of(*outcome->failure)), outcome->reason);
    run.reject_package(step.variant.key);
  }
}

}  // namespace esper::lanes
