#include "step/rates/parameter_rules.h"

#include <algorithm>

#include "kasmina/network/host_pattern.h"
#include "step/gradients/flat_tensors.h"

namespace esper::step {
void check_rules(const ParameterRules& rules, std::span<const kasmina::NamedTensor> host) {
  for (const auto& entry : rules.groups) {
    if (entry) kasmina::require_host_parameter(entry->pattern, host, "training.groups", entry->pattern);
  }
}

ElementFactors element_factors(const ParameterRules& rules, const config::OptimizerConfig& optimizer,
                               std::span<const std::string> ids, torch::TensorList parameters) {
  if (rules.groups.empty() && rules.decay_norms_and_biases) return {};
  std::vector<torch::Tensor> rates, decays;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto rule = std::ranges::find_if(
        rules.groups, [&](const auto& entry) { return entry && kasmina::fits_host_parameter(ids[i], entry->pattern); });
    const bool is_plain = parameters[i].dim() < 2 && !rules.decay_norms_and_biases;
    double rate = 1, decay = is_plain ? 0 : optimizer.weight_decay;
    if (rule != rules.groups.end()) {
      rate = (*rule)->lr;
      decay = (*rule)->weight_decay.value_or(decay);
    }
    if (optimizer.kind == config::OptimizerKind::kAdamw) decay *= rate;
    const auto options = parameters[i].options().requires_grad(false);
    rates.push_back(at::full({parameters[i].numel()}, rate, options));
    decays.push_back(at::full({parameters[i].numel()}, decay, options));
  }
  if (rates.empty()) return {};
  const std::int64_t alignment = alignment_on(parameters.front().device());
  return {at::cat(with_gaps(std::move(rates), alignment)), at::cat(with_gaps(std::move(decays), alignment))};
}

}  // namespace esper::step
