#include "step/rates/parameter_rules.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/pattern.h"
#include "base/text/printable.h"

namespace esper::step {
namespace {

constexpr std::string_view kHost = "host.";

bool names(const config::GroupRule& rule, std::string_view id) {
  if (!id.starts_with(kHost)) return false;
  return base::fits_pattern(id, rule.pattern) || base::fits_pattern(id.substr(kHost.size()), rule.pattern);
}

}  // namespace

void check_rules(const ParameterRules& rules, std::span<const std::string> host_ids) {
  for (const auto& entry : rules.groups) {
    if (!entry || std::ranges::any_of(host_ids, [&](const auto& id) { return names(*entry, id); })) continue;
    std::vector<std::string> known;
    for (const auto& id : host_ids) known.push_back(id.substr(kHost.size()));
    const auto close = base::nearest(entry->pattern, known);
    throw base::Error(base::ExitCode::kConfig, "training.groups: " + base::in_quotes(entry->pattern) +
                                                   " fits no parameter of the host" +
                                                   (close ? "; did you mean " + *close + "?" : ""));
  }
}

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
