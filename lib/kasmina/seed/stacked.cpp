#include "kasmina/seed/stacked.h"

#include <ATen/ops/tensor.h>

#include <algorithm>

#include "base/error.h"

namespace esper::kasmina {
namespace {

// The configurations that still share one group, group by group.
using Groups = std::vector<std::vector<std::size_t>>;

struct Parted {
  Branching branching;
  Groups groups;
};

Parted part(const Groups& groups, std::span<const std::vector<double>> alphas, std::size_t slot) {
  Parted out;
  out.branching.groups_in = static_cast<std::int64_t>(groups.size());
  for (std::size_t parent = 0; parent < groups.size(); ++parent) {
    std::map<double, std::vector<std::size_t>> by_alpha;
    for (const std::size_t configuration : groups[parent])
      by_alpha[alphas[configuration][slot]].push_back(configuration);
    for (auto& [alpha, configurations] : by_alpha) {
      out.branching.parents.push_back(static_cast<std::int64_t>(parent));
      out.branching.alphas.push_back(alpha);
      out.groups.push_back(std::move(configurations));
    }
  }
  return out;
}

bool all_zero(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value == 0; });
}

}  // namespace

bool Branching::is_alike() const {
  if (alphas.size() % static_cast<std::size_t>(groups_in) != 0) return false;
  const std::size_t each = alphas.size() / static_cast<std::size_t>(groups_in);
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    if (parents[i] != static_cast<std::int64_t>(i / each) || alphas[i] != alphas[i % each]) return false;
  }
  return true;
}

BranchPlan plan_branches(std::span<const std::vector<double>> alphas) {
  ESPER_CHECK(!alphas.empty(), "there must be a configuration to run");
  BranchPlan plan;
  Groups groups(1);
  for (std::size_t i = 0; i < alphas.size(); ++i) groups[0].push_back(i);
  for (std::size_t slot = 0; slot < alphas[0].size(); ++slot) {
    auto parted = part(groups, alphas, slot);
    if (all_zero(parted.branching.alphas)) {
      plan.slots.emplace_back();
      continue;
    }
    plan.slots.emplace_back(std::move(parted.branching));
    groups = std::move(parted.groups);
  }
  plan.groups = static_cast<std::int64_t>(groups.size());
  plan.group_of.resize(alphas.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::size_t configuration : groups[group]) {
      plan.group_of[configuration] = static_cast<std::int64_t>(group);
    }
  }
  return plan;
}

AlphaBranches to_device(const Branching& branching, torch::Device device) {
  AlphaBranches out;
  out.groups_in = branching.groups_in;
  std::span<const double> alphas = branching.alphas;
  if (branching.is_alike()) {
    alphas = alphas.first(alphas.size() / static_cast<std::size_t>(branching.groups_in));
  } else {
    out.parents = at::tensor(branching.parents, at::TensorOptions().dtype(at::kLong)).to(device);
  }
  out.alphas =
      at::tensor(at::ArrayRef<double>(alphas.data(), alphas.size()), at::TensorOptions().dtype(at::kFloat)).to(device);
  return out;
}

}  // namespace esper::kasmina
