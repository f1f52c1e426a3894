#include "tolaria/train_step.h"

#include <torch/csrc/autograd/autograd.h>

#include <limits>

#include "device/precision.h"
#include "leyline/error.h"
#include "tolaria/clip.h"
#include "tolaria/ema.h"
#include "tolaria/loss.h"
#include "tolaria/optimizer.h"

namespace esper::tolaria {
namespace {

using Tensors = std::vector<torch::Tensor>;

const CountConstants& constants_for(StepState& state, std::int64_t num_targets) {
  for (const CountConstants& known : state.count_constants) {
    if (known.num_targets == num_targets) return known;
  }
  const auto options = torch::dtype(torch::kFloat32).device(state.device);
  state.count_constants.push_back({num_targets, at::full({}, 1.0 / static_cast<double>(num_targets), options)});
  return state.count_constants.back();
}

std::int64_t count_targets(std::span<const Microbatch> microbatches) {
  std::int64_t count = 0;
  for (const Microbatch& microbatch : microbatches) count += microbatch.targets.numel();
  return count;
}

torch::Tensor run_forward(const StepState& state, const StepSettings& settings, const Microbatch& microbatch,
                          const Forward& forward) {
  at::AutoGradMode record(true);
  device::AutocastScope autocast(state.device.type(), settings.compute_type);
  return forward(microbatch.inputs);
}

// One gradient per parameter. Where no forward of the step used the parameter it is zero and `used` says so.
struct StepGradients {
  Tensors tensors;
  std::vector<char> used;
};

// Gradients of weight * (sum of the microbatch's losses).
Tensors microbatch_gradients(StepState& state, const StepSettings& settings, const Microbatch& microbatch,
                             const Forward& forward, const torch::Tensor& weight) {
  const torch::Tensor logits = run_forward(state, settings, microbatch, forward);
  const Prediction prediction = flatten(logits.detach(), microbatch.targets);
  const LossAndGradient loss = cross_entropy(prediction, settings.label_smoothing, weight);
  state.metrics.loss_sum.add_(loss.sum);
  state.metrics.correct.add_(count_correct(prediction));
  const torch::Tensor gradient = loss.gradient.view(logits.sizes()).to(logits.scalar_type());
  return torch::autograd::grad({logits}, state.parameters, {gradient}, false, false, true);
}

void mark_used(const StepState& state, Tensors& part, std::vector<char>& used) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i].defined()) {
      used[i] = 1;
    } else {
      part[i] = at::zeros_like(state.parameters[i]);
    }
  }
}

StepGradients step_gradients(StepState& state, const StepSettings& settings, std::span<const Microbatch> microbatches,
                             const Forward& forward) {
  const std::int64_t num_targets = count_targets(microbatches);
  const torch::Tensor& inverse = constants_for(state, num_targets).inverse;
  const torch::Tensor weight = state.loss_scale.enabled() ? inverse.mul(state.loss_scale.scale) : inverse;
  state.metrics.samples.add_(num_targets);
  StepGradients sum{{}, std::vector<char>(state.parameters.size(), 0)};
  for (std::size_t m = 0; m < microbatches.size(); ++m) {
    Tensors part = microbatch_gradients(state, settings, microbatches[m], forward, weight);
    mark_used(state, part, sum.used);
    // What autograd returns may share memory between parameters; the first sum is ours.
    if (m == 0) {
      sum.tensors = std::move(part);
    } else if (m == 1) {
      sum.tensors = at::_foreach_add(sum.tensors, part);
    } else {
      at::_foreach_add_(sum.tensors, part);
    }
  }
  return sum;
}

void add_norms(const StepState& state, const GradientNorms& norms) {
  const MetricSums& sums = state.metrics;
  sums.steps.add_(1);
  sums.finite_steps.add_(norms.global.lt(std::numeric_limits<double>::infinity()));
  sums.gradient_norm_sum.add_(norms.global.nan_to_num(0, 0, 0));
  if (state.groups.size() > 1) {
    const torch::Tensor squares = norms.per_tensor.mul(norms.per_tensor);
    sums.group_norm_sum.add_(state.membership.mv(squares).sqrt_().nan_to_num_(0, 0, 0));
  }
}

void apply_gradients(StepState& state, const StepSettings& settings, const Tensors& gradients) {
  std::size_t begin = 0;
  for (GroupState& group : state.groups) {
    const std::size_t count = group.parameters.size();
    update_parameters(group, torch::TensorList(gradients).slice(begin, count), state.lr, settings.optimizer);
    begin += count;
    if (settings.ema_decay > 0) update_averages(group, settings.ema_decay);
  }
}

Tensors written_by_update(const StepState& state) {
  Tensors written = state.parameters;
  for (const GroupState& group : state.groups) {
    for (const Tensors* list : {&group.first_moments, &group.second_moments, &group.averages}) {
      written.insert(written.end(), list->begin(), list->end());
    }
    written.push_back(group.step);
  }
  return written;
}

}  // namespace

void train_step(StepState& state, const StepSettings& settings, std::span<const Microbatch> microbatches,
                const Forward& forward) {
  ESPER_CHECK(!microbatches.empty() && !state.parameters.empty(), "a step needs samples and parameters");
  at::NoGradGuard no_grad;
  auto [gradients, used] = step_gradients(state, settings, microbatches, forward);
  if (state.loss_scale.enabled()) gradients = unscale(state.loss_scale, gradients);
  const GradientNorms norms = gradient_norms(gradients);
  add_norms(state, norms);
  if (settings.clip_norm > 0) {
    state.metrics.clipped_steps.add_(norms.global.gt(settings.clip_norm));
    gradients = at::_foreach_mul(gradients, clip_factor(norms.global, settings.clip_norm));
  }
  // The optimizer leaves a parameter alone whose gradient is undefined.
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) gradients[i].reset();
  }
  if (!state.loss_scale.enabled()) return apply_gradients(state, settings, gradients);
  keep_if_finite(state.loss_scale, written_by_update(state),
                 [&, &all = gradients] { apply_gradients(state, settings, all); });
  update_scale(state.loss_scale);
}

}  // namespace esper::tolaria
