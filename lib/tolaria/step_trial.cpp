// How a lane earns the real step: it agrees with eager, and it is faster.

#include "device/cuda_table.h"
#include "leyline/names.h"
#include "leyline/telemetry.h"
#include "tolaria/step_roots.h"
#include "tolaria/step_runner.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Lane;
using leyline::Level;
using program::Contender;
using namespace leyline::literals;

// A lane that is not this much faster is not worth the change of bits.
constexpr double kLeastSpeedup = 1.02;

std::vector<torch::Tensor> copies(const std::vector<program::Tracked>& tracked) {
  std::vector<torch::Tensor> result;
  for (const program::Tracked& item : tracked) result.push_back(item.tensor.detach().clone());
  return result;
}

double microseconds(leyline::Duration duration) { return std::chrono::duration<double, std::micro>(duration).count(); }

std::string name_of(const std::optional<FastLane>& lane) {
  return std::string(leyline::name_of(lane ? lane->lane() : Lane::kEager));
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace

void StepRunner::challenge(StepPlan& plan, FastLane lane) {
  plan.challenger = std::move(lane);
  plan.challenger_checked = false;
  plan.trial = {};
}

// The step that training goes on from is eager's, whatever the lane did.
StepRunner::Verdict StepRunner::compare_with_eager(FastLane& lane, Batch microbatches) {
  const Preparing preparing(*this);
  const auto tracked = tracked_tensors(model_);
  const StepSnapshot start(model_, device_);
  const auto before = copies(tracked);
  std::string error;
  try {
    lane.run(microbatches);
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  const auto actual = copies(tracked);
  start.restore();
  eager(microbatches);
  ++figures_.checks;
  std::optional<program::Difference> difference;
  if (error.empty()) {
    std::vector<torch::Tensor> expected;
    for (const program::Tracked& item : tracked) expected.push_back(item.tensor.detach());
    difference =
        first_difference(tracked, before, expected, actual, program::tolerance_of(model_.settings.compute_type));
    if (difference) error = "its step differs from eager's";
  }
  if (error.empty()) return Verdict::kSame;
  ++figures_.checks_failed;
  put_away(lane, Cause::kErred, error, difference ? &*difference : nullptr);
  return Verdict::kDiffers;
}

void StepRunner::try_challenger(StepPlan& plan, Batch microbatches, std::int64_t steps_left) {
  if (!plan.challenger_checked) {
    plan.challenger_checked = true;
    if (compare_with_eager(*plan.challenger, microbatches) == Verdict::kDiffers) {
      const bool compiled = plan.challenger->lane() == Lane::kCompiled;
      const std::string key = plan.challenger->key();
      plan.challenger.reset();
      if (compiled) drop_shared(plan, key);
      if (compiled) std::erase_if(plan.wanted, [&](const Variant& variant) { return variant.key == key; });
      if (compiled && !plan.undecided) compile_next(plan);
    } else if (config_.lane != Lane::kAuto) {
      adopt(plan, 0, "it is the lane that was asked for");
    }
    return;
  }
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
    decide_on_compiling(plan, microseconds(plan.trial.median(Contender::kIncumbent)), steps_left);
  }
  if (!plan.trial.done()) return;
  settle_trial(plan);
}

void StepRunner::settle_trial(StepPlan& plan) {
  const double speedup = plan.trial.speedup();
  if (!plan.incumbent) figures_.eager_step_us = microseconds(plan.trial.median(Contender::kIncumbent));
  const bool compiled = plan.challenger->lane() == Lane::kCompiled;
  const double challenger_us = microseconds(plan.trial.median(Contender::kChallenger));
  const auto faster = speedup >= kLeastSpeedup ? Contender::kChallenger : Contender::kIncumbent;
  figures_.steady_step_us = microseconds(plan.trial.median(faster));
  if (faster == Contender::kChallenger) {
    adopt(plan, speedup, "it was measured to be faster");
  } else {
    const std::string reason = "it was not faster: " + digits(speedup) + " times the speed of ";
    put_away(*plan.challenger, Cause::kNotFaster, reason + name_of(plan.incumbent), nullptr);
    plan.challenger.reset();
  }
  if (compiled) note_recipe(plan, challenger_us);
}

void StepRunner::adopt(StepPlan& plan, double speedup, const std::string& reason) {
  tell(event("tolaria.lane_adopted"_event, Level::kInfo,
             {{"lane", name_of(plan.challenger)},
              {"from", name_of(plan.incumbent)},
              {"speedup", digits(speedup)},
              {"reason", reason}}));
  if (plan.challenger->lane() == Lane::kCompiled) {
    tell(event("tolaria.compile_enabled"_event, Level::kInfo,
               {{"mode", std::string(leyline::name_of(config_.compile.mode))},
                {"dynamic", plan.family != nullptr ? "true" : "false"},
                {"speedup", digits(speedup)}}));
  }
  if (plan.challenger->lane() == Lane::kGraph) {
    tell(event("tolaria.graph_enabled"_event, Level::kInfo, {{"capture_ms", digits(graphs_->capture_ms)}}));
  }
  plan.incumbent = std::move(plan.challenger);
  plan.challenger.reset();
}

// The state may be half written: the run ends with the error, and the next one does without this program.
void StepRunner::put_away_failed(const FastLane& lane, const std::string& reason) {
  ++figures_.quarantined;
  services_.desk->quarantine(lane.key(), program::EntryFault::kDamaged, reason);
  tell(event("tolaria.compile_runtime_fallback"_event, Level::kError, {{"error", "step failed"}, {"reason", reason}}));
}

void StepRunner::put_away(const FastLane& lane, Cause cause, const std::string& reason,
                          const program::Difference* where) {
  ++figures_.refusals;
  const bool erred = cause == Cause::kErred;
  leyline::TelemetryEvent refused = event("tolaria.lane_refused"_event, erred ? Level::kWarning : Level::kInfo,
                                          {{"lane", std::string(leyline::name_of(lane.lane()))}, {"reason", reason}});
  if (where != nullptr) {
    refused.attributes["tensor"] = where->tensor;
    refused.attributes["difference"] = digits(where->difference);
    refused.attributes["tolerance"] = digits(where->tolerance);
  }
  tell(std::move(refused));
  if (!erred || lane.lane() != Lane::kCompiled) return;
  ++figures_.quarantined;
  // Only a wrong answer is one for good; what was thrown may have been a lack of memory.
  const auto fault = where != nullptr ? program::EntryFault::kWrong : program::EntryFault::kDamaged;
  services_.desk->quarantine(lane.key(), fault, reason);
}

}  // namespace esper::tolaria
