#include "step/probe.h"

#include "device/precision.h"
#include "kasmina/network/alpha_override.h"
#include "step/aggregation_state.h"
#include "step/gradients/attribution.h"
#include "step/loss.h"

namespace esper::step {
namespace {

torch::Tensor loss_of(const Model& model, const Microbatch& microbatch) {
  device::AutocastScope autocast(model.state.device.type(), model.settings.compute_type);
  const torch::Tensor logits = model.network.forward(microbatch.inputs, kasmina::Mode::kEvaluate);
  return loss_sum(model.settings.loss, flatten(logits, microbatch.targets));
}

torch::Tensor shares_of(Model& model, const Microbatch& microbatch) {
  const torch::Tensor loss = loss_of(model, microbatch);
  std::vector<torch::Tensor> lost;
  for (const std::string& seed : model.state.seed_sums.seed_ids) {
    const kasmina::AlphaOverride without(model.network.state(), seed, 0);
    lost.push_back(loss_of(model, microbatch).sub(loss).clamp_min(0));
  }
  return normalised_shares(at::stack(lost));
}

}  // namespace

void probe_attribution(Model& model, std::span<const Microbatch> microbatches) {
  AggregationState& aggregation = model.state.aggregation;
  const auto& config = model.settings.aggregation.config;
  const bool probes = config.attribution == config::Attribution::kProbe && uses_surgery(config);
  const auto count = static_cast<std::int64_t>(microbatches.size());
  if (!probes || aggregation.num_seeds < 2 || count < 2) return;
  const torch::NoGradGuard no_grad;
  if (!aggregation.probed.defined() || aggregation.probed.size(0) < count) {
    aggregation.probed = at::empty({count, aggregation.num_seeds}, model.state.gradients.options());
  }
  for (std::int64_t i = 0; i < count; ++i) {
    aggregation.probed[i].copy_(shares_of(model, microbatches[static_cast<std::size_t>(i)]));
  }
}

}  // namespace esper::step
