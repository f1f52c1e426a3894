// The lanes that need no compiler: the step's replay and, on a card, the replay as a CUDA graph.

#include "base/error.h"
#include "lanes/step_runner.h"
#include "leyline/telemetry.h"

namespace esper::lanes {
namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// One for the whole step and one for the epoch's last, shorter one may fail by bad luck; then it is the network.
constexpr std::int64_t kMostFailures = 2;

}  // namespace

void check_lane(const config::StepConfig& config, torch::Device device) {
  if (config.lane != Lane::kGraph || device.is_cuda()) return;
  throw base::Error(base::ExitCode::kConfig,
                    "step.lane: graph is a CUDA graph, and this run is on the CPU; take step.lane: auto, replay or "
                    "compiled, or device.kind: cuda");
}

bool StepRunner::may_capture() const { return device_.is_cuda() && graphs_->failures < kMostFailures; }

// False where the step cannot be captured; the lane is then as it was.
bool StepRunner::capture(FastLane& lane, Batch microbatches) {
  try {
    lane.capture(model_, microbatches, device_, config_.graph.warmup_batches, graphs_);
    return true;
  } catch (const program::CaptureFailure& failure) {
    const std::string failures = std::to_string(++graphs_->failures);
    tell(event(
        "tolaria.graph_fallback"_event, Level::kWarning,
        {{"error", "capture_failed"}, {"message", failure.what()}, {"stage", failure.stage}, {"failures", failures}}));
    if (!may_capture())
      tell(event("tolaria.graph_disabled_after_failures"_event, Level::kWarning, {{"failures", failures}}));
    return false;
  }
}

// After a step was recorded, and the cache was asked for its compiled program.
void StepRunner::challenge_uncompiled(StepPlan& plan, Batch microbatches) {
  const bool graph = config_.lane == Lane::kGraph || (config_.lane == Lane::kAuto && device_.is_cuda());
  if (!plan.program || (!graph && config_.lane != Lane::kAuto && config_.lane != Lane::kReplay)) return;
  if (plan.challenger) {
    if (graph) tell(event("tolaria.graph_skipped_compile"_event, Level::kInfo, {}));
    return;
  }
  if (std::exchange(plan.tried_uncompiled, true)) return;
  const Preparing preparing(*this);
  try {
    FastLane lane = FastLane::replay(*plan.program, model_, microbatches);
    const bool captured = graph && may_capture() && capture(lane, microbatches);
    if (config_.lane == Lane::kGraph && !captured) return;
    challenge(plan, std::move(lane));
  } catch (const c10::Error& error) {
    // Most likely memory: a run that fits in eager goes on in eager.
    ++figures_.refusals;
    tell(event("tolaria.lane_refused"_event, Level::kWarning,
               {{"lane", "replay"}, {"reason", error.what_without_backtrace()}}));
  }
}

FastLane StepRunner::load_package(StepPlan& plan, Batch microbatches, const std::string& path, const std::string& key) {
  FastLane lane = FastLane::compiled(plan.to_compile(), model_, microbatches, path, key);
  const bool wanted = config_.compile.mode == config::CompileMode::kReduceOverhead;
  if (wanted && may_capture()) capture(lane, microbatches);
  return lane;
}

}  // namespace esper::lanes
