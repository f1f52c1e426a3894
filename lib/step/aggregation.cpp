#include "step/aggregation.h"

#include <algorithm>

#include "step/aggregation_state.h"
#include "step/gradients/attribution.h"
#include "step/gradients/gradient_surgery.h"

namespace esper::step {
namespace {

using config::Attribution;
using kasmina::SlotTap;
using kasmina::SlotTaps;

// The paths into and past each seed, then its output.
constexpr std::size_t kPaths = 2;

torch::Tensor flat_float(const torch::Tensor& gradient, const SlotTap& tap) {
  if (gradient.defined()) return gradient.reshape({-1}).to(torch::kFloat32);
  return at::zeros({tap.change.numel()}, tap.change.options().dtype(torch::kFloat32));
}

bool knows_shares(const StepState& state, const AggregationSettings& settings, std::int64_t num_microbatches) {
  if (!uses_surgery(settings.config)) return false;
  const torch::Tensor& probed = state.aggregation.probed;
  return settings.config.attribution != Attribution::kProbe || (probed.defined() && probed.size(0) >= num_microbatches);
}

}  // namespace

Aggregation::Aggregation(StepState& state, const AggregationSettings& settings, std::int64_t num_microbatches)
    : state_(state),
      settings_(settings),
      num_seeds_(state.aggregation.num_seeds),
      num_microbatches_(num_microbatches),
      operates_(knows_shares(state, settings, num_microbatches_) && num_seeds_ > 1 && num_microbatches_ > 1),
      isolation_wanted_(settings.config.seed_figures && num_seeds_ > 0) {
  const bool in_shadow = std::ranges::any_of(state.groups, &GroupState::in_shadow);
  taps_wanted_ = in_shadow || isolation_wanted_ || (operates_ && settings.config.attribution == Attribution::kApprox);
  if (!operates_) return;
  torch::Tensor& rows = state.aggregation.microbatch_gradients;
  if (!rows.defined() || rows.size(0) < num_microbatches_) {
    rows = at::empty({num_microbatches_, state.gradients.numel()}, state.gradients.options());
  }
  rows_ = rows.narrow(0, 0, num_microbatches_);
}

std::vector<torch::Tensor> Aggregation::tapped(const SlotTaps& taps) const {
  std::vector<torch::Tensor> tensors;
  for (const SlotTap& tap : taps) {
    if (isolation_wanted_) tensors.insert(tensors.end(), {tap.host_path, tap.seed_path});
  }
  for (const SlotTap& tap : taps) {
    if (operates_ && settings_.config.attribution == Attribution::kApprox) tensors.push_back(tap.output);
  }
  return tensors;
}

void Aggregation::take_in(const SlotTaps& taps, std::span<const torch::Tensor> gradients,
                          const Microbatch& microbatch) {
  is_first_part_ = !microbatch.goes_on;
  if (is_first_part_) ++microbatch_;
  if (isolation_wanted_) {
    const std::size_t count = kPaths * taps.size();
    take_inner_products(taps, gradients.first(count));
    gradients = gradients.subspan(count);
  }
  if (!operates_) return;
  switch (settings_.config.attribution) {
    case Attribution::kApprox:
      return take_evidence(first_order_losses(taps, gradients));
    case Attribution::kDataloader:
      return take_evidence(microbatch.targets.flatten());
    case Attribution::kProbe:
    case Attribution::kUniform:
      break;
  }
}

void Aggregation::take_evidence(const torch::Tensor& evidence) {
  if (is_first_part_) {
    evidence_.push_back(evidence);
  } else if (settings_.config.attribution == Attribution::kApprox) {
    evidence_.back() = evidence_.back().add(evidence);
  } else {
    evidence_.back() = at::cat({evidence_.back(), evidence});
  }
}

torch::Tensor Aggregation::attribution_of(std::int64_t microbatch) const {
  if (settings_.config.attribution == Attribution::kProbe) return state_.aggregation.probed[microbatch];
  const torch::Tensor& evidence = evidence_[static_cast<std::size_t>(microbatch)];
  if (settings_.config.attribution == Attribution::kApprox) return normalised_shares(evidence.abs());
  return class_shares_of(state_.aggregation.class_shares, evidence);
}

Aggregation::Destination Aggregation::destination() const {
  if (operates_) return {rows_[microbatch_], is_first_part_ ? Write::kReplace : Write::kAdd};
  return {state_.gradients, microbatch_ == 0 && is_first_part_ ? Write::kReplace : Write::kAdd};
}

// What is read while the gradients are there; what follows from it is worked out once a step.
void Aggregation::take_inner_products(const SlotTaps& taps, std::span<const torch::Tensor> gradients) {
  std::vector<torch::Tensor> products;
  isolation_gates_.clear();
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const torch::Tensor host = flat_float(gradients[kPaths * i], taps[i]);
    const torch::Tensor seed = flat_float(gradients[kPaths * i + 1], taps[i]);
    products.insert(products.end(), {at::dot(host, seed), at::dot(host, host), at::dot(seed, seed)});
    isolation_gates_.push_back(taps[i].isolation_gate);
  }
  if (is_first_part_) {
    inner_products_.insert(inner_products_.end(), products.begin(), products.end());
  } else {
    std::ranges::transform(products, std::span(inner_products_).last(products.size()),
                           inner_products_.end() - static_cast<std::ptrdiff_t>(products.size()),
                           [](const torch::Tensor& own, const torch::Tensor& before) { return before.add(own); });
  }
}

void Aggregation::measure_isolation() {
  const torch::Tensor table = at::stack(inner_products_).view({num_microbatches_, num_seeds_, 3});
  const torch::Tensor dots = table.narrow(2, 0, 1), norms = table.narrow(2, 1, 2).sqrt();
  const torch::Tensor bound = norms.prod(2, true).mul(settings_.max_isolation_cosine);
  const torch::Tensor closed = at::stack(isolation_gates_).unsqueeze(1).eq(0);
  const torch::Tensor violated = dots.abs().gt(bound).logical_and(closed).to(torch::kFloat32);
  torch::Tensor reported = at::cat({dots, norms, violated}, 2);
  if (state_.loss_scale.enabled()) {
    const torch::Tensor once = state_.loss_scale.scale.reciprocal();
    reported = reported.mul(at::stack({once.square(), once, once, at::ones_like(once)}));
  }
  state_.seed_sums.figures.narrow(1, kIsolationDot, 4).add_(at::nan_to_num(reported, 0, 0, 0).sum(0));
}

void Aggregation::finish() {
  if (num_seeds_ == 0) return;
  if (operates_) operate();
  if (!settings_.config.seed_figures) return;
  measure_isolation();
  if (!operates_) {
    state_.seed_sums.figures.narrow(1, 0, kSeedComparisons + 1).add_(state_.aggregation.plain_figures);
  }
  if (state_.seed_sums.layer_squares.numel() == 0) return;
  std::vector<torch::Tensor> gradients, scales;
  for (const GroupState& group : state_.groups) {
    if (!is_growing(state_, group)) continue;
    const auto& views = group.gradients.views;
    gradients.insert(gradients.end(), views.begin(), views.end());
    const LossScale& scale = group.loss_scale.enabled() ? group.loss_scale : state_.loss_scale;
    if (scale.enabled()) scales.push_back(scale.scale.expand({static_cast<std::int64_t>(views.size())}));
  }
  torch::Tensor norms = at::stack(at::_foreach_norm(gradients));
  if (!scales.empty()) norms = norms.div(at::cat(scales));
  state_.seed_sums.layer_squares.add_(at::nan_to_num(norms.square(), 0, 0, 0));
}

void Aggregation::operate() {
  const auto real = state_.seed_sums.figures.options();
  std::vector<torch::Tensor> rows_of_group;
  torch::Tensor gram;
  std::int64_t offset = 0;
  const auto& host = state_.groups.front().owner;
  for (const GroupState& group : state_.groups) {
    const torch::Tensor rows = rows_.narrow(1, offset, group.gradients.flat.numel());
    offset += rows.size(1);
    rows_of_group.push_back(rows);
    if (group.owner != host) continue;
    const torch::Tensor products = at::mm(rows, rows.t());
    gram = gram.defined() ? gram.add(products) : products;
  }
  std::vector<torch::Tensor> attribution;
  for (std::int64_t i = 0; i < num_microbatches_; ++i) attribution.push_back(attribution_of(i));
  const torch::Tensor shares = at::stack(attribution).to(torch::kFloat64);
  const torch::Tensor of_seeds = at::mm(at::mm(shares.t(), gram.to(torch::kFloat64)), shares);
  const auto order = projection_order(state_.aggregation.steps, num_seeds_, settings_.run_seed);
  const Surgery surgery = project_conflicts(of_seeds, order);
  const torch::Tensor weights = surgery.coefficients.sum(0);
  const torch::Tensor of_microbatches = at::mv(shares, weights).to(torch::kFloat32);
  std::size_t i = 0;
  for (GroupState& group : state_.groups) {
    const torch::Tensor& rows = rows_of_group[i++];
    if (group.owner == host) {
      at::mv_out(group.gradients.flat, rows.t(), of_microbatches);
    } else {
      at::sum_out(group.gradients.flat, rows, at::IntArrayRef{0});
    }
  }
  state_.aggregation.steps.add_(1);
  if (!settings_.config.seed_figures) return;
  const torch::Tensor compared = at::full({num_seeds_}, static_cast<double>(num_seeds_ - 1), real);
  const torch::Tensor figures =
      at::stack({at::ones({num_seeds_}, real), weights, shares.mean(0), surgery.conflicts, compared}, 1);
  state_.seed_sums.figures.narrow(1, 0, kSeedComparisons + 1).add_(at::nan_to_num(figures, 0, 0, 0));
}

}  // namespace esper::step
