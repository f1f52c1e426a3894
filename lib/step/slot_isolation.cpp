#include "step/slot_isolation.h"

#include <algorithm>
#include <cstdint>

#include "step/seed_sums.h"

namespace esper::step {
namespace {

using kasmina::SlotTap;
using kasmina::SlotTaps;

// Inner products of a seed in a microbatch.
constexpr std::int64_t kProducts = 3;

torch::Tensor flat_float(const torch::Tensor& gradient, const SlotTap& tap) {
  if (gradient.defined()) return gradient.reshape({-1}).to(torch::kFloat32);
  return at::zeros({tap.change.numel()}, tap.change.options().dtype(torch::kFloat32));
}

}  // namespace

std::vector<torch::Tensor> SlotIsolation::tapped(const SlotTaps& taps) {
  std::vector<torch::Tensor> tensors;
  for (const SlotTap& tap : taps) tensors.insert(tensors.end(), {tap.host_path, tap.seed_path});
  return tensors;
}

// What is read while the gradients are there; what follows from it is worked out once a step.
void SlotIsolation::take_in(const SlotTaps& taps, std::span<const torch::Tensor> gradients,
                            const Microbatch& microbatch) {
  std::vector<torch::Tensor> products;
  gates_.clear();
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const torch::Tensor host = flat_float(gradients[kPaths * i], taps[i]);
    const torch::Tensor seed = flat_float(gradients[kPaths * i + 1], taps[i]);
    products.insert(products.end(), {at::dot(host, seed), at::dot(host, host), at::dot(seed, seed)});
    gates_.push_back(taps[i].isolation_gate);
  }
  if (!microbatch.goes_on) {
    inner_products_.insert(inner_products_.end(), products.begin(), products.end());
  } else {
    std::ranges::transform(products, std::span(inner_products_).last(products.size()),
                           inner_products_.end() - static_cast<std::ptrdiff_t>(products.size()),
                           [](const torch::Tensor& own, const torch::Tensor& before) { return before.add(own); });
  }
}

void SlotIsolation::finish(StepState& state, double max_cosine) const {
  const std::int64_t num_seeds = state.aggregation.num_seeds;
  const std::int64_t num_microbatches = static_cast<std::int64_t>(inner_products_.size()) / (kProducts * num_seeds);
  const torch::Tensor table = at::stack(inner_products_).view({num_microbatches, num_seeds, kProducts});
  const torch::Tensor dots = table.narrow(2, 0, 1), norms = table.narrow(2, 1, 2).sqrt();
  const torch::Tensor bound = norms.prod(2, true).mul(max_cosine);
  const torch::Tensor closed = at::stack(gates_).unsqueeze(1).eq(0);
  const torch::Tensor violated = dots.abs().gt(bound).logical_and(closed).to(torch::kFloat32);
  torch::Tensor reported = at::cat({dots, norms, violated}, 2);
  if (state.loss_scale.enabled()) {
    const torch::Tensor once = state.loss_scale.scale.reciprocal();
    reported = reported.mul(at::stack({once.square(), once, once, at::ones_like(once)}));
  }
  state.seed_sums.figures.narrow(1, kIsolationDot, 4).add_(at::nan_to_num(reported, 0, 0, 0).sum(0));
}

}  // namespace esper::step
