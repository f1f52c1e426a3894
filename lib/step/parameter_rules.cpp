#include "step/parameter_rules.h"

#include <algorithm>
#include <string_view>

#include "base/text/pattern.h"

namespace esper::step {
namespace {

bool names(const config::GroupRule& rule, std::string_view id) {
  constexpr std::string_view kHost = "host.";
  if (base::fits_pattern(id, rule.pattern)) return true;
  return id.starts_with(kHost) && base::fits_pattern(id.substr(kHost.size()), rule.pattern);
}

}  // namespace

ElementFactors element_factors(const ParameterRules& rules, const config::OptimizerConfig& optimizer,
                               std::span<const std::string> ids, torch::TensorList parameters) {
  if (rules.groups.empty() && rules.decay_norms_and_biases) return {};
  std::vector<torch::Tensor> rates, decays;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto rule =
        std::ranges::find_if(rules.groups, [&](const auto& entry) { return entry && names(*entry, ids[i]); });
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
  return {at::cat(rates), at::cat(decays)};
}

}  // namespace esper::step
