// How a lane that agrees with eager earns the real step: it is faster.

#include "base/names.h"
#include "base/text/rounding.h"
#include "device/cuda_table.h"
#include "lanes/step_runner.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::digits;

namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using program::Contender;
using namespace leyline::literals;

// A lane that is not this much faster is not worth the change of bits.
constexpr double kLeastSpeedup = 1.02;

double microseconds(base::Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

std::string name_of(const std::optional<FastLane>& lane) {
  return std::string(base::name_of(lane ? lane->lane() : Lane::kEager));
}

}  // namespace

void StepRunner::challenge(StepPlan& plan, FastLane lane) {
  plan.challenger.reset();
  plan.challenger.emplace(std::move(lane));
  plan.challenger_checked = false;
  plan.trial = {};
  plan.near_misses = 0;
}

void StepRunner::try_challenger(StepPlan& plan, Batch microbatches, StepPlace place) {
  if (!plan.challenger_checked) return check_challenger(plan, microbatches, place.number);
  const auto begin = services_.clock.now();
  if (plan.trial.turn() == Contender::kIncumbent) {
    run_incumbent(plan, microbatches);
  } else {
    run_in(*plan.challenger, microbatches);
  }
  // Only here: a kernel that is still on its way would be measured with the next step.
  if (device_.is_cuda()) device::cuda().synchronize(device_.index());
  plan.trial.note(services_.clock.now() - begin);
  if (plan.undecided && plan.trial.turn() == Contender::kChallenger) {
    decide_on_compiling(plan, microseconds(plan.trial.median(Contender::kIncumbent)), place.left);
  }
  if (!plan.trial.done()) return;
  settle_trial(plan, place.number);
}

void StepRunner::settle_trial(StepPlan& plan, std::int64_t number) {
  const double speedup = plan.trial.speedup();
  if (!plan.incumbent) figures_.eager_step_us = microseconds(plan.trial.median(Contender::kIncumbent));
  const bool compiled = plan.challenger->lane() == Lane::kCompiled;
  const double challenger_us = microseconds(plan.trial.median(Contender::kChallenger));
  const auto faster = speedup >= kLeastSpeedup ? Contender::kChallenger : Contender::kIncumbent;
  figures_.steady_step_us = microseconds(plan.trial.median(faster));
  if (faster == Contender::kChallenger) {
    adopt(plan, speedup, "it was measured to be faster", number);
  } else {
    const std::string reason = "it was not faster: " + digits(speedup, 3) + " times the speed of ";
    trouble_.put_away(*plan.challenger, Cause::kNotFaster, reason + name_of(plan.incumbent), nullptr);
    plan.challenger.reset();
  }
  if (compiled) note_recipe(plan, challenger_us);
}

// speedup: of a trial, if there was one. number: of the step that settled it; the next one of its shape runs in the
// lane.
void StepRunner::adopt(StepPlan& plan, std::optional<double> speedup, const std::string& reason, std::int64_t number) {
  const auto tell_with_speedup = [&](leyline::TelemetryEvent told) {
    if (speedup) told.attributes["speedup"] = digits(*speedup, 3);
    tell(std::move(told));
  };
  tell_with_speedup(event("tolaria.lane_adopted"_event, Level::kInfo,
                          {{"lane", name_of(plan.challenger)},
                           {"from", name_of(plan.incumbent)},
                           {"step", std::to_string(number)},
                           {"reason", reason}}));
  if (plan.challenger->lane() == Lane::kCompiled) {
    tell_with_speedup(event("tolaria.compile_enabled"_event, Level::kInfo,
                            {{"mode", std::string(base::name_of(config_.compile.mode))},
                             {"dynamic", plan.family != nullptr ? "true" : "false"}}));
  }
  if (plan.challenger->lane() == Lane::kGraph) {
    tell(event("tolaria.graph_enabled"_event, Level::kInfo, {{"capture_ms", digits(graphs_->capture_ms, 3)}}));
  }
  plan.incumbent.reset();
  plan.incumbent.emplace(std::move(*plan.challenger));
  plan.challenger.reset();
}

}  // namespace esper::lanes
