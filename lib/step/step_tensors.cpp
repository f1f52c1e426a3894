#include "step/step_tensors.h"

namespace esper::step {
namespace {

using Role = StepTensor::Role;
using StepTensors = std::vector<StepTensor>;

void add(StepTensors& out, const std::string& name, const torch::Tensor& tensor, Role role) {
  if (tensor.defined() && tensor.numel() > 0) out.push_back({name, tensor, role});
}

// `whose`: as append_named() takes it.
void add_loss_scale(StepTensors& out, const LossScale& loss_scale, const std::string& whose) {
  add(out, "scaler.scale" + whose, loss_scale.scale, Role::kState);
  add(out, "scaler.growth_tracker" + whose, loss_scale.growth_tracker, Role::kState);
  add(out, "scaler.found_inf" + whose, loss_scale.found_inf, Role::kScratch);
}

void add_group(StepTensors& out, const GroupState& group) {
  const bool adamw = group.second_moments.defined();
  add(out, "parameters." + group.id, group.parameters.flat, Role::kState);
  add(out, (adamw ? "optimizer.exp_avg." : "optimizer.momentum_buffer.") + group.id, group.first_moments.flat,
      Role::kState);
  add(out, "optimizer.exp_avg_sq." + group.id, group.second_moments.flat, Role::kState);
  add(out, "ema." + group.id, group.averages.flat, Role::kState);
  add(out, "optimizer.lr_factors." + group.id, group.factors.lr, Role::kConstant);
  add(out, "optimizer.decays." + group.id, group.factors.decay, Role::kConstant);
  add_loss_scale(out, group.loss_scale, "." + group.id);
}

void add_scalars(StepTensors& out, const StepState& state) {
  add(out, "optimizer.lr", state.lr, Role::kState);
  add(out, "optimizer.lr_scales", state.scalars.lr_scales, Role::kState);
  add(out, "optimizer.steps", state.scalars.steps, Role::kState);
  add(out, "optimizer.log_betas", state.scalars.log_betas, Role::kConstant);
  add(out, "optimizer.scratch", state.scalars.scratch, Role::kScratch);
  add_loss_scale(out, state.loss_scale, "");
}

void add_figures(StepTensors& out, const StepState& state) {
  const MetricSums& metrics = state.metrics;
  add(out, "metrics.sums", metrics.sums, Role::kState);
  add(out, "metrics.counts", metrics.counts, Role::kState);
  add(out, "metrics.correct", metrics.correct, Role::kState);
  add(out, "metrics.group_norm_sum", metrics.group_norm_sum, Role::kState);
  add(out, "metrics.seed_figures", state.seed_sums.figures, Role::kState);
  add(out, "metrics.seed_layers", state.seed_sums.layer_squares, Role::kState);
  const StepFigures& figures = state.figures;
  add(out, "figures.row", figures.row, Role::kScratch);
  add(out, "figures.wide_row", figures.wide_row, Role::kScratch);
  add(out, "figures.part", figures.part, Role::kScratch);
  add(out, "figures.total_weight", figures.total_weight, Role::kScratch);
  add(out, "figures.correct", figures.correct, Role::kScratch);
  add(out, "figures.norm", figures.norm, Role::kScratch);
  add(out, "figures.group_norms", figures.group_norms, Role::kScratch);
  add(out, "figures.infinity", figures.infinity, Role::kConstant);
}

void add_aggregation(StepTensors& out, const AggregationState& aggregation) {
  add(out, "aggregation.steps", aggregation.steps, Role::kState);
  add(out, "aggregation.plain_figures", aggregation.plain_figures, Role::kConstant);
  add(out, "aggregation.class_shares", aggregation.class_shares, Role::kConstant);
  add(out, "aggregation.probed", aggregation.probed, Role::kConstant);
  add(out, "aggregation.microbatch_gradients", aggregation.microbatch_gradients, Role::kScratch);
}

}  // namespace

std::vector<StepTensor> step_tensors(const StepState& state) {
  StepTensors out;
  for (const GroupState& group : state.groups) add_group(out, group);
  add_scalars(out, state);
  add_figures(out, state);
  add(out, "class_weights", state.class_weights, Role::kConstant);
  add_aggregation(out, state.aggregation);
  add(out, "gradients", state.gradients, Role::kScratch);
  for (const CountConstants& constants : state.count_constants) {
    const std::string count = std::to_string(constants.num_targets);
    add(out, "inverse." + count, constants.inverse, Role::kConstant);
    add(out, "increment." + count, constants.increment, Role::kConstant);
  }
  return out;
}

}  // namespace esper::step
