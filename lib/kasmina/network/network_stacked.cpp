#include "kasmina/network/network_stacked.h"

#include "base/error.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {

StackedPlan plan_stacked(const NetworkState& network, std::span<const Configuration> configurations) {
  std::vector<std::vector<double>> alphas;
  for (const auto& configuration : configurations) {
    std::size_t found = 0;
    auto& row = alphas.emplace_back();
    for (const auto& slot : network.structure.slots) {
      const bool has_module = slot.seed && !slot.seed->folded;
      row.push_back(has_module ? scalar_values(*slot.seed, slot.stage, network.growth).alpha : 0);
      const auto wanted = has_module ? configuration.find(slot.seed->id) : configuration.end();
      if (wanted == configuration.end()) continue;
      row.back() = wanted->second;
      ++found;
    }
    ESPER_CHECK(found == configuration.size(), "a configuration names a seed that the network does not have");
  }
  const auto branches = plan_branches(alphas);
  StackedPlan plan{{}, branches.group_of, branches.groups};
  for (const auto& branching : branches.slots) {
    plan.slots.push_back(branching ? std::optional(to_device(*branching, network.device)) : std::nullopt);
  }
  return plan;
}

torch::Tensor forward_stacked(const NetworkState& network, const torch::Tensor& inputs, const StackedPlan& plan) {
  ESPER_CHECK(!at::GradMode::is_enabled(), "configurations are compared, not taught");
  return network.host.forward(inputs, Mode::kEvaluate, [&](std::size_t slot, const BlockOutput& from) {
    const auto& branches = plan.slots[slot];
    return branches ? pass_seed(*network.structure.slots[slot].seed, from, *branches) : SlotOutput(from.feature);
  });
}

}  // namespace esper::kasmina
