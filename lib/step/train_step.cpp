#include "step/train_step.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/fault.h"
#include "device/precision.h"
#include "step/aggregation.h"
#include "step/clip_gradients.h"
#include "step/counted_targets.h"
#include "step/ema.h"
#include "step/loss.h"
#include "step/optimizer.h"
#include "step/scaled_parts.h"

namespace esper::step {
namespace {

using Tensors = std::vector<torch::Tensor>;
// Outside of the forward nothing is recorded, so the dispatcher need not ask autograd about every operation.
using BelowAutograd = at::AutoDispatchBelowADInplaceOrView;

const CountConstants& constants_for(StepState& state, std::int64_t num_targets) {
  for (const CountConstants& known : state.count_constants) {
    if (known.num_targets == num_targets) return known;
  }
  const auto real = torch::dtype(torch::kFloat32).device(state.device);
  torch::Tensor increment = at::empty({2}, torch::kInt64);
  increment[0].fill_(1);
  increment[1].fill_(num_targets);
  state.count_constants.push_back(
      {num_targets, at::full({}, 1.0 / static_cast<double>(num_targets), real), increment.to(state.device)});
  return state.count_constants.back();
}

std::int64_t count_targets(std::span<const Microbatch> microbatches) {
  std::int64_t count = 0;
  for (const Microbatch& microbatch : microbatches) count += microbatch.targets.numel();
  return count;
}

torch::Tensor run_forward(const StepState& state, const StepSettings& settings,
                          const std::function<torch::Tensor()>& forward) {
  at::AutoGradMode record(true);
  device::AutocastScope autocast(state.device.type(), settings.compute_type);
  return forward();
}

enum class Accumulate { kStart, kAdd };

// Of cross entropy with class weights the mean divides by the sum of the targets' weights, as PyTorch's does; of the
// other losses it divides by the number of target elements.
bool divides_by_weights(const StepState& state, const LossSettings& loss) {
  return loss.kind == config::LossKind::kCrossEntropy && state.class_weights.defined();
}

// 0 where no target has a weight: such a step has no gradient.
torch::Tensor inverse_of_weights(const StepState& state, std::span<const Microbatch> microbatches) {
  torch::Tensor sum;
  for (const Microbatch& microbatch : microbatches) {
    const torch::Tensor own = sum_of_weights(state.class_weights, microbatch.targets);
    sum = sum.defined() ? sum.add(own) : own;
  }
  return sum.clamp_min(std::numeric_limits<float>::min()).reciprocal().mul(sum.gt(0));
}

// Regression has no right and wrong.
void count_hits(StepState& state, const LossSettings& loss, const Prediction& prediction) {
  using config::LossKind;
  torch::Tensor& correct = state.figures.correct;
  if (loss.kind == LossKind::kMse || loss.kind == LossKind::kHuber) return;
  if (loss.kind == LossKind::kBce) {
    // A sample's labels count all or none.
    at::sum_out(correct, hits(prediction).all(1), at::IntArrayRef{0});
    correct.mul_(prediction.targets.size(1));
  } else {
    at::sum_out(correct, hits(prediction), at::IntArrayRef{0});
  }
  state.metrics.correct.add_(correct);
}

// The gradient at the logits of weight * (sum of the microbatch's losses); takes down loss and correct predictions.
torch::Tensor logits_gradient(StepState& state, const StepSettings& settings, const torch::Tensor& logits,
                              const torch::Tensor& targets, const torch::Tensor& weight, Accumulate mode) {
  const BelowAutograd below;
  const Prediction prediction = flatten(logits.detach(), targets);
  StepFigures& figures = state.figures;
  torch::Tensor& loss = mode == Accumulate::kStart ? figures.figure[kLoss] : figures.part;
  const torch::Tensor gradient =
      loss_gradient(settings.loss, prediction, {settings.loss.label_smoothing, weight, state.class_weights},
                    {loss, figures.total_weight});
  if (mode == Accumulate::kAdd) figures.figure[kLoss].add_(loss);
  count_hits(state, settings.loss, prediction);
  return unflatten(gradient, logits, targets);
}

// The same of a forward that no figure counts.
torch::Tensor uncounted_gradient(StepState& state, const StepSettings& settings, const torch::Tensor& logits,
                                 const torch::Tensor& targets, const torch::Tensor& weight) {
  const BelowAutograd below;
  const LossSum scratch{state.figures.part, state.figures.total_weight};
  const Prediction prediction = flatten(logits.detach(), targets);
  const LossOptions options{settings.loss.label_smoothing, weight, state.class_weights};
  return unflatten(loss_gradient(settings.loss, prediction, options, scratch), logits, targets);
}

// Replaces the parts of the seeds that train in the shadow of the network, whose parameters the main forward does not
// use, by the gradients of their own forwards. They draw no random number.
void take_in_shadows(StepState& state, const StepSettings& settings, const Microbatch& microbatch,
                     const torch::Tensor& inverse, const kasmina::SlotTaps& taps, Tensors& parts) {
  auto part = parts.begin();
  std::size_t seed = 0;  // of the growing ones, as taps has them
  for (const GroupState& group : state.groups) {
    const Tensors& parameters = group.parameters.views;
    if (group.in_shadow) {
      const torch::Tensor logits = run_forward(state, settings, taps.at(seed).shadow);
      const torch::Tensor weight = scaled(inverse, group.loss_scale);
      const torch::Tensor gradient = uncounted_gradient(state, settings, logits, microbatch.targets, weight);
      std::ranges::move(torch::autograd::grad({logits}, parameters, {gradient}, false, false, true), part);
    }
    if (is_growing(state, group)) ++seed;
    part += static_cast<std::ptrdiff_t>(parameters.size());
  }
}

// Writes or adds the parts to where they belong. Where the forward did not use a parameter its part is undefined and
// counts as zero; `used` then keeps its 0.
void collect(const StepState& state, Tensors parts, std::vector<char>& used, Aggregation::Destination to) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].defined()) {
      used[i] = 1;
      parts[i] = parts[i].reshape({-1});
    } else {
      parts[i] = at::zeros({state.parameters[i].numel()}, state.gradients.options());
    }
  }
  parts = with_gaps(std::move(parts), alignment_on(state.device));
  if (to.write == Aggregation::Write::kReplace) {
    at::cat_out(to.flat, parts);
  } else {
    to.flat.add_(at::cat(parts));
  }
}

// Leaves in state.gradients the gradient of the mean loss over all targets of the step, times the loss scale. Returns
// which parameters some forward used.
std::vector<char> compute_gradients(StepState& state, const StepSettings& settings,
                                    std::span<const Microbatch> microbatches, const TrainingForward& forward) {
  const CountConstants& constants = constants_for(state, count_targets(microbatches));
  const bool weighted = divides_by_weights(state, settings.loss);
  const torch::Tensor inverse = weighted ? inverse_of_weights(state, microbatches) : constants.inverse;
  const torch::Tensor weight = scaled(inverse, state.loss_scale);
  std::vector<char> used(state.parameters.size(), 0);
  Aggregation aggregation(state, settings.aggregation, count_whole(microbatches));
  Accumulate mode = Accumulate::kStart;
  const CountedTargets before(state);
  for (const Microbatch& microbatch : microbatches) {
    kasmina::SlotTaps taps;
    const torch::Tensor logits = run_forward(
        state, settings, [&] { return forward(microbatch.inputs, aggregation.wants_taps() ? &taps : nullptr); });
    const torch::Tensor gradient = logits_gradient(state, settings, logits, microbatch.targets, weight, mode);
    Tensors tapped = aggregation.tapped(taps);
    if (!tapped.empty()) tapped.insert(tapped.begin(), state.parameters.begin(), state.parameters.end());
    const Tensors& sources = tapped.empty() ? state.parameters : tapped;
    Tensors parts = torch::autograd::grad({logits}, sources, {gradient}, false, false, true);
    take_in_shadows(state, settings, microbatch, inverse, taps, parts);
    const BelowAutograd below;
    aggregation.take_in(taps, std::span(parts).subspan(state.parameters.size()), microbatch);
    parts.resize(state.parameters.size());
    collect(state, std::move(parts), used, aggregation.destination());
    mode = Accumulate::kAdd;
  }
  const BelowAutograd below;
  aggregation.finish();
  // A step's loss then counts as that of its targets.
  if (weighted) state.figures.figure[kLoss].mul_(inverse.div(constants.inverse));
  state.metrics.counts.add_(constants.increment);
  before.leave_out_overflow(state);
  return used;
}

void apply_gradients(StepState& state, const StepSettings& settings) {
  update_scalars(state.scalars, state.lr, settings.optimizer);
  for (GroupState& group : state.groups) update_parameters(group, settings.optimizer);
}

// What the optimizer writes for the parameters that no forward used.
Tensors written_for_unused(const StepState& state, std::span<const char> used) {
  Tensors written;
  std::size_t i = 0;
  for (const GroupState& group : state.groups) {
    const std::size_t count = group.parameters.views.size();
    if (group.step.defined() && !std::ranges::count(used.subspan(i, count), 1)) written.push_back(group.step);
    for (std::size_t k = 0; k < count; ++k, ++i) {
      if (used[i]) continue;
      written.push_back(group.parameters.views[k]);
      if (group.first_moments.defined()) written.push_back(group.first_moments.views[k]);
      if (group.second_moments.defined()) written.push_back(group.second_moments.views[k]);
    }
  }
  return written;
}

// As PyTorch, which skips a parameter without a gradient. A group without another one counts no step.
void apply_to_used(StepState& state, const StepSettings& settings, const std::vector<char>& used) {
  const Tensors unused = written_for_unused(state, used);
  Tensors before;
  for (const torch::Tensor& tensor : unused) before.push_back(tensor.clone());
  apply_gradients(state, settings);
  for (std::size_t i = 0; i < unused.size(); ++i) unused[i].copy_(before[i]);
  if (settings.ema_decay == 0) return;
  for (GroupState& group : state.groups) update_averages(group, settings);
}

}  // namespace

std::int64_t count_whole(std::span<const Microbatch> microbatches) {
  return std::ranges::count(microbatches, false, &Microbatch::goes_on);
}

void train_step(StepState& state, const StepSettings& settings, std::span<const Microbatch> microbatches,
                const TrainingForward& forward) {
  ESPER_CHECK(!microbatches.empty() && !state.parameters.empty(), "a step needs samples and parameters");
  ESPER_CHECK(!microbatches.front().goes_on, "a step's first samples go on with no microbatch");
  for (const GroupState& group : state.groups) {
    ESPER_CHECK(in_place(group.parameters), "another StepState owns the parameters of group " + group.id);
  }
  at::NoGradGuard no_grad;
  const std::vector<ScaledPart> parts = scaled_parts(state);
  std::vector<char> used;
  keep_finite_parts(parts, &ScaledPart::statistics, [&] {
    used = compute_gradients(state, settings, microbatches, forward);
    const BelowAutograd below;
    unscale(parts);
  });
  const BelowAutograd below;
  if (base::fault::hit("step.gradient")) state.gradients[state.gradients.numel() / 2].fill_(NAN);
  measure_norms(state);
  clip_and_count(state, settings.clip_norm);
  keep_finite_parts(parts, &ScaledPart::written, [&] { apply_to_used(state, settings, used); });
  update_scales(parts);
}

void create_constants(StepState& state, std::span<const Microbatch> microbatches) {
  constants_for(state, count_targets(microbatches));
}

}  // namespace esper::step
