#include "step/aggregation.h"

#include <algorithm>

#include "step/seed_sums.h"

namespace esper::step {

using kasmina::SlotTap;
using kasmina::SlotTaps;

Aggregation::Aggregation(StepState& state, const AggregationSettings& settings, std::int64_t num_microbatches)
    : state_(state), settings_(settings) {
  if (MicrobatchSurgery::acts_on(state, settings, num_microbatches)) {
    surgery_.emplace(state, settings, num_microbatches);
  }
  if (settings.config.seed_figures && state.aggregation.num_seeds > 0) isolation_.emplace();
}

bool Aggregation::wants_taps() const {
  const bool in_shadow = std::ranges::any_of(state_.groups, &GroupState::in_shadow);
  return in_shadow || isolation_ || (surgery_ && surgery_->wants_outputs());
}

std::vector<torch::Tensor> Aggregation::tapped(const SlotTaps& taps) const {
  std::vector<torch::Tensor> tensors;
  if (isolation_) tensors = SlotIsolation::tapped(taps);
  if (!surgery_ || !surgery_->wants_outputs()) return tensors;
  for (const SlotTap& tap : taps) tensors.push_back(tap.output);
  return tensors;
}

void Aggregation::take_in(const SlotTaps& taps, std::span<const torch::Tensor> gradients,
                          const Microbatch& microbatch) {
  is_first_part_ = !microbatch.goes_on;
  if (is_first_part_) ++microbatch_;
  if (isolation_) {
    const std::size_t count = SlotIsolation::kPaths * taps.size();
    isolation_->take_in(taps, gradients.first(count), microbatch);
    gradients = gradients.subspan(count);
  }
  if (surgery_) surgery_->take_in(taps, gradients, microbatch);
}

Aggregation::Destination Aggregation::destination() const {
  if (surgery_) return {surgery_->row(microbatch_), is_first_part_ ? Write::kReplace : Write::kAdd};
  return {state_.gradients, microbatch_ == 0 && is_first_part_ ? Write::kReplace : Write::kAdd};
}

void Aggregation::finish() {
  if (surgery_) surgery_->finish();
  if (!isolation_) return;
  isolation_->finish(state_, settings_.max_isolation_cosine);
  if (!surgery_) {
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

}  // namespace esper::step
