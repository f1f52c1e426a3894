// Many configurations of the network in one forward.

#include "base/error.h"
#include "kasmina/network.h"
#include "kasmina/widening.h"

namespace esper::kasmina {

std::vector<std::string> Network::active_seeds() const {
  std::vector<std::string> ids;
  for (const auto* slot : in_creation_order(structure_.slots)) {
    const bool heard = scalar_values(*slot->seed, slot->stage, growth_).alpha > 0;
    if (is_growing(slot->stage) && heard) ids.push_back(slot->seed->id);
  }
  return ids;
}

StackedPlan Network::plan_stacked(std::span<const Configuration> configurations) const {
  std::vector<std::vector<double>> alphas;
  for (const auto& configuration : configurations) {
    std::size_t found = 0;
    auto& row = alphas.emplace_back();
    for (const auto& slot : structure_.slots) {
      const bool has_module = slot.seed && !slot.seed->folded;
      row.push_back(has_module ? scalar_values(*slot.seed, slot.stage, growth_).alpha : 0);
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
    plan.slots.push_back(branching ? std::optional(to_device(*branching, device_)) : std::nullopt);
  }
  return plan;
}

torch::Tensor Network::forward_stacked(const torch::Tensor& inputs, const StackedPlan& plan) const {
  ESPER_CHECK(!at::GradMode::is_enabled(), "configurations are compared, not taught");
  return host_.forward(inputs, Mode::kEvaluate, [&](std::size_t slot, const BlockOutput& from) {
    const auto& branches = plan.slots[slot];
    return branches ? pass_seed(*structure_.slots[slot].seed, from, *branches) : SlotOutput(from.feature);
  });
}

}  // namespace esper::kasmina
