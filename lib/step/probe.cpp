#include "step/probe.h"

#include <algorithm>

#include "base/error.h"
#include "device/precision.h"
#include "kasmina/network/alpha_override.h"
#include "step/aggregation_state.h"
#include "step/gradients/attribution.h"
#include "step/loss.h"

namespace esper::step {
namespace {

// Of a microbatch's parts together.
torch::Tensor loss_of(const Model& model, std::span<const Microbatch> parts) {
  device::AutocastScope autocast(model.state.device.type(), model.settings.compute_type);
  torch::Tensor loss;
  for (const Microbatch& part : parts) {
    const torch::Tensor logits = model.network.forward(part.inputs, kasmina::Mode::kEvaluate);
    const torch::Tensor own = loss_sum(model.settings.loss, flatten(logits, part.targets));
    loss = loss.defined() ? loss.add(own) : own;
  }
  return loss;
}

torch::Tensor shares_of(Model& model, std::span<const Microbatch> parts) {
  const torch::Tensor loss = loss_of(model, parts);
  std::vector<torch::Tensor> lost;
  for (const std::string& seed : model.state.seed_sums.seed_ids) {
    const kasmina::AlphaOverride without(model.network.state(), seed, 0);
    lost.push_back(loss_of(model, parts).sub(loss).clamp_min(0));
  }
  return normalised_shares(at::stack(lost));
}

// How many of the first ones are one microbatch.
std::size_t parts_of_first(std::span<const Microbatch> microbatches) {
  const auto next = std::ranges::find(microbatches.subspan(1), false, &Microbatch::goes_on);
  return 1 + static_cast<std::size_t>(next - microbatches.subspan(1).begin());
}

}  // namespace

void probe_attribution(Model& model, std::span<const Microbatch> microbatches) {
  const AggregationState& aggregation = model.state.aggregation;
  const auto& config = model.settings.aggregation.config;
  const bool probes = config.attribution == config::Attribution::kProbe && uses_surgery(config);
  const std::int64_t count = count_whole(microbatches);
  if (!probes || aggregation.num_seeds < 2 || count < 2) return;
  ESPER_CHECK(count <= model.settings.aggregation.microbatches, "a step has more microbatches than the run's");
  const torch::NoGradGuard no_grad;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t parts = parts_of_first(microbatches);
    aggregation.probed[i].copy_(shares_of(model, microbatches.first(parts)));
    microbatches = microbatches.subspan(parts);
  }
}

}  // namespace esper::step
