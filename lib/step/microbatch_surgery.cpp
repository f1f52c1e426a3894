#include "step/microbatch_surgery.h"

#include "step/aggregation_state.h"
#include "step/gradients/attribution.h"
#include "step/gradients/gradient_surgery.h"
#include "step/seed_sums.h"

namespace esper::step {
namespace {

using config::Attribution;
using kasmina::SlotTaps;

bool knows_shares(const StepState& state, const AggregationSettings& settings, std::int64_t num_microbatches) {
  if (!uses_surgery(settings.config)) return false;
  const torch::Tensor& probed = state.aggregation.probed;
  return settings.config.attribution != Attribution::kProbe || (probed.defined() && probed.size(0) >= num_microbatches);
}

}  // namespace

bool MicrobatchSurgery::acts_on(const StepState& state, const AggregationSettings& settings,
                                std::int64_t num_microbatches) {
  return knows_shares(state, settings, num_microbatches) && state.aggregation.num_seeds > 1 && num_microbatches > 1;
}

MicrobatchSurgery::MicrobatchSurgery(StepState& state, const AggregationSettings& settings,
                                     std::int64_t num_microbatches)
    : state_(state), settings_(settings), num_microbatches_(num_microbatches) {
  torch::Tensor& rows = state.aggregation.microbatch_gradients;
  if (!rows.defined() || rows.size(0) < num_microbatches_) {
    rows = at::empty({num_microbatches_, state.gradients.numel()}, state.gradients.options());
  }
  rows_ = rows.narrow(0, 0, num_microbatches_);
}

void MicrobatchSurgery::take_in(const SlotTaps& taps, std::span<const torch::Tensor> output_gradients,
                                const Microbatch& microbatch) {
  switch (settings_.config.attribution) {
    case Attribution::kApprox:
      return take_evidence(first_order_losses(taps, output_gradients), microbatch);
    case Attribution::kDataloader:
      return take_evidence(microbatch.targets.flatten(), microbatch);
    case Attribution::kProbe:
    case Attribution::kUniform:
      break;
  }
}

void MicrobatchSurgery::take_evidence(const torch::Tensor& evidence, const Microbatch& microbatch) {
  if (!microbatch.goes_on) {
    evidence_.push_back(evidence);
  } else if (wants_outputs()) {
    evidence_.back() = evidence_.back().add(evidence);
  } else {
    evidence_.back() = at::cat({evidence_.back(), evidence});
  }
}

torch::Tensor MicrobatchSurgery::attribution_of(std::int64_t microbatch) const {
  if (settings_.config.attribution == Attribution::kProbe) return state_.aggregation.probed[microbatch];
  const torch::Tensor& evidence = evidence_[static_cast<std::size_t>(microbatch)];
  if (settings_.config.attribution == Attribution::kApprox) return normalised_shares(evidence.abs());
  return class_shares_of(state_.aggregation.class_shares, evidence);
}

void MicrobatchSurgery::finish() {
  const std::int64_t num_seeds = state_.aggregation.num_seeds;
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
  const auto order = projection_order(state_.aggregation.steps, num_seeds, settings_.run_seed);
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
  const torch::Tensor compared = at::full({num_seeds}, static_cast<double>(num_seeds - 1), real);
  const torch::Tensor figures =
      at::stack({at::ones({num_seeds}, real), weights, shares.mean(0), surgery.conflicts, compared}, 1);
  state_.seed_sums.figures.narrow(1, 0, kSeedComparisons + 1).add_(at::nan_to_num(figures, 0, 0, 0));
}

}  // namespace esper::step
