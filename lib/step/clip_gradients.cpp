#include "step/clip_gradients.h"

#include <algorithm>
#include <vector>

#include "step/gradients/clip.h"

namespace esper::step {
namespace {

using Tensors = std::vector<torch::Tensor>;

// The L2 norm of all elements. On the CPU a dot product with itself goes twice as fast.
void l2_norm_out(torch::Tensor& out, const torch::Tensor& flat) {
  if (flat.is_cpu()) {
    at::sqrt_out(out, at::dot(flat, flat));
  } else {
    at::linalg_vector_norm_out(out, flat);
  }
}

void clip_apart(StepState& state, double clip_norm) {
  const torch::Tensor& norms = state.figures.group_norms;
  Tensors open;
  for (const GroupState& group : state.groups) {
    open.push_back(group.isolation_gate.defined() ? group.isolation_gate : at::ones({}, norms.options()));
  }
  const torch::Tensor shared = at::stack(open);
  // Not a product: a norm that is not finite would spoil the others.
  const torch::Tensor norm_of_shared = at::linalg_vector_norm(at::where(shared.eq(0), 0, norms));
  const torch::Tensor factors = clip_factor(at::where(shared.eq(0), norms, norm_of_shared), clip_norm);
  torch::Tensor& clipped = state.figures.figure[kClipped];
  at::gt_out(clipped, factors.min().neg(), -1);
  clipped.mul_(state.figures.figure[kFinite]);
  for (std::size_t i = 0; i < state.groups.size(); ++i) {
    state.groups[i].gradients.flat.mul_(factors[static_cast<std::int64_t>(i)]);
  }
}

void clip(StepState& state, double clip_norm) {
  const auto isolates = [](const GroupState& group) { return group.isolation_gate.defined(); };
  if (std::ranges::any_of(state.groups, isolates)) return clip_apart(state, clip_norm);
  // A norm that is not finite is 0 there: fp16 skips its step.
  at::gt_out(state.figures.figure[kClipped], state.figures.figure[kGradientNorm], clip_norm);
  state.gradients.mul_(clip_factor(state.figures.norm, clip_norm));
}

}  // namespace

void measure_norms(StepState& state) {
  torch::Tensor &norm = state.figures.norm, &group_norms = state.figures.group_norms;
  if (state.groups.size() == 1) {
    l2_norm_out(norm, state.gradients);
    return;
  }
  for (GroupState& group : state.groups) l2_norm_out(group.gradient_norm, group.gradients.flat);
  at::linalg_vector_norm_out(norm, group_norms);
  state.metrics.group_norm_sum.add_(at::where(norm.lt(state.figures.infinity), group_norms, 0));
}

void clip_and_count(StepState& state, double clip_norm) {
  StepFigures& figures = state.figures;
  at::nan_to_num_out(figures.figure[kGradientNorm], figures.norm, 0, 0, 0);
  at::lt_out(figures.figure[kFinite], figures.norm, figures.infinity);
  if (clip_norm > 0) {
    clip(state, clip_norm);
  } else {
    figures.figure[kClipped].zero_();
  }
  // One addition of mixed types takes longer than these two.
  figures.wide_row.copy_(figures.row);
  state.metrics.sums.add_(figures.wide_row);
}

}  // namespace esper::step
