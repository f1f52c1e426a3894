#include "engine/bench/trainee.h"

#include <torch/types.h>

#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "device/rng.h"
#include "engine/bench/progress.h"
#include "engine/bench/step_clock.h"
#include "lanes/prepared_lane.h"

namespace esper::engine::bench {
namespace {

constexpr int kStepsToAgree = 3;
constexpr double kTinyMovement = 1e-9;

// Owns what the closures of a lane refer to.
struct LaneState {
  std::unique_ptr<step::Model> model;
  lanes::PreparedLane lane;
  std::size_t next = 0;
};

std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> out;
  for (const torch::Tensor& tensor : tensors) out.push_back(tensor.detach().to(torch::kCPU, torch::kFloat64).clone());
  return out;
}

void show_waiting(const leyline::TelemetryEvent& event) {
  show_phase("waits for " + event.attributes.at("waits_for") + ", " + event.attributes.at("waited_s") + " s");
}

double tolerance_for(const config::RunConfig& config, const step::StepSettings& settings) {
  constexpr double kExactNumbers = 2e-3, kShortNumbers = 0.1, kRandomNumbers = 2.0;
  if (config.host.dropout > 0) return kRandomNumbers;
  return settings.compute_type == torch::kFloat32 ? kExactNumbers : kShortNumbers;
}

}  // namespace

Trainee lane_trainee(const Workload& workload, config::Lane lane) {
  return lane_trainee(workload, lane, fresh_model(workload), workload.steps);
}

Trainee lane_trainee(const Workload& workload, config::Lane lane, std::unique_ptr<step::Model> model,
                     const std::vector<Microbatches>& steps) {
  if (lane == config::Lane::kCompiled && !workload.no_compiler.empty()) {
    return {std::string(base::name_of(lane)), {}, {}, 0, workload.no_compiler};
  }
  const auto state = std::make_shared<LaneState>();
  state->model = std::move(model);
  state->lane = lanes::prepare_lane(*state->model, lane, steps.front(), workload.setup.compile_service.get(),
                                    workload.setup.config.step, show_waiting);
  Trainee trainee;
  trainee.name = base::name_of(lane);
  trainee.warmup_ms = state->lane.warmup_ms;
  trainee.refusal = state->lane.refusal;
  trainee.step = [state, &steps] {
    state->lane.step(steps[state->next]);
    if (++state->next == steps.size()) state->next = 0;
  };
  trainee.parameters = [state] { return copies(state->model->state.parameters); };
  return trainee;
}

Contender contender_of(Trainee trainee, torch::Device device) {
  const auto run = [step = std::move(trainee.step), device](int steps, std::vector<double>& out_us) {
    time_steps(steps, device, out_us, step);
  };
  return {std::move(trainee.name), run, trainee.warmup_ms};
}

namespace {

// The eager row, from parameters that are changed by a rounding error.
Trainee nudged_trainee(const Workload& workload) {
  constexpr double kRoundingError = 1.2e-7;
  auto model = fresh_model(workload);
  const at::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : model->state.parameters) parameter.mul_(1 + kRoundingError);
  return lane_trainee(workload, config::Lane::kEager, std::move(model), workload.steps);
}

double rms(const torch::Tensor& tensor) { return std::sqrt(tensor.square().mean().item<double>()); }

// Agreement::difference. Not by the largest element: AdamW makes a whole step of a gradient that is all rounding, so
// one element of a right program may be off by as much as it moved.
double apart(const Trainee& a, const Trainee& b, const Workload& workload) {
  const auto start = a.parameters();
  for (const Trainee* trainee : {&a, &b}) {
    device::seed_all(workload.setup.config.seed);
    for (int i = 0; i < kStepsToAgree; ++i) trainee->step();
  }
  const auto left = a.parameters(), right = b.parameters();
  ESPER_CHECK(left.size() == right.size(), "two networks with different parameters are compared");
  double difference = 0, moved = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    difference = std::max(difference, rms(left[i].sub(right[i])));
    moved = std::max(moved, rms(left[i].sub(start[i])));
  }
  return difference / std::max(moved, kTinyMovement);
}

}  // namespace

Agreement compare(const Trainee& a, const Trainee& b, const Workload& workload) {
  constexpr double kOwnDrift = 4;
  Agreement agreement{apart(a, b, workload), tolerance_for(workload.setup.config, workload.setup.settings)};
  if (agreement.holds()) return agreement;
  const double own = apart(lane_trainee(workload, config::Lane::kEager), nudged_trainee(workload), workload);
  agreement.tolerance = std::max(agreement.tolerance, kOwnDrift * own);
  return agreement;
}

}  // namespace esper::engine::bench
