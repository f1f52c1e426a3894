// When a step is compiled, and how its programs come into use.

#include "leyline/names.h"
#include "leyline/telemetry.h"
#include "tolaria/step_runner.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Lane;
using leyline::Level;
using program::CompileEffort;
using namespace leyline::literals;

// A compilation takes this long where nothing is warm, and a compiled step saves about this share of a step. It goes on
// beside the training, so what it has to earn back is the disturbance, not its time; with both guesses off by a factor
// of two the decision still costs less than it brings.
constexpr double kCompileSeconds = 15, kSecondsPerOperator = 0.03;
constexpr double kShareSaved = 0.3;

double milliseconds(leyline::Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

std::string whole(double value) { return std::to_string(static_cast<std::int64_t>(value)); }

}  // namespace

void StepRunner::want_compiled(StepPlan& plan, Batch microbatches, std::int64_t steps_left) {
  const bool wanted = config_.lane == Lane::kAuto || config_.lane == Lane::kCompiled;
  if (!wanted || !plan.program) return;
  if (desk_ == nullptr || !desk_->problem().empty()) {
    return refuse_compilation(desk_ == nullptr ? "no Python to compile with" : desk_->problem());
  }
  for (const std::string& recipe : desk_->recipes(*plan.program)) {
    const std::string key = desk_->key(*plan.program, recipe);
    if (!desk_->was_quarantined(key)) plan.wanted.push_back({recipe, CompileEffort::kQuick, key});
  }
  if (plan.wanted.empty()) return;
  if (load_cached(plan, plan.wanted.front(), microbatches)) {
    ++figures_.cache_hits;
    plan.wanted.clear();
    return;
  }
  ++figures_.cache_misses;
  plan.steps_left_at_record = steps_left;
  plan.wanted.push_back({plan.wanted.front().recipe, CompileEffort::kFull, plan.wanted.front().key});
  if (config_.lane == Lane::kCompiled) wait_for_compiled(plan, microbatches);
}

}  // namespace esper::tolaria
