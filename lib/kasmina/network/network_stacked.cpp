#include "kasmina/network/network_stacked.h"

#include "base/error.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {

namespace {

// The groups of rows that go on, as pass_seed() orders them.
std::vector<Carried> branched(const std::vector<Carried>& carried, const AlphaBranches& branches) {
  if (carried.empty()) return {};
  const auto groups = branches.groups_in;
  const auto parents =
      branches.parents.defined()
          ? branches.parents
          : at::arange(groups, branches.alphas.options().dtype(at::kLong)).repeat_interleave(branches.alphas.size(0));
  std::vector<Carried> out;
  for (const auto& [tensor, rows] : carried) {
    if (rows < 0) {
      out.push_back({tensor, rows});
      continue;
    }
    const auto by_group = tensor.unflatten(rows, {groups, tensor.size(rows) / groups});
    out.push_back({by_group.index_select(rows, parents).flatten(rows, rows + 1), rows});
  }
  return out;
}

}  // namespace

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
  ESPER_CHECK(!at::GradMode::is_enabled(), "configurations are compared, not trained");
  return network.host.forward(inputs, Mode::kEvaluate, [&](std::size_t slot, const BlockOutput& from) {
    const auto& branches = plan.slots[slot];
    if (!branches) return SlotOutput(from.feature);
    SlotOutput passed = pass_seed(*network.structure.slots[slot].seed, from, *branches);
    passed.carried = branched(from.carried, *branches);
    return passed;
  });
}

}  // namespace esper::kasmina
