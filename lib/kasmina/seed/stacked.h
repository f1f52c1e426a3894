#pragma once
// Many configurations of one network in one forward. A configuration sets the alpha of each seed; the rows of a batch
// are copied only where configurations first differ, so blocks before a slot run once for all configurations that agree
// up to it.
//
// Rows are in groups: a group is the whole batch once, and serves all configurations that agree so far. One group comes
// in; at a slot each group splits into as many as it has different alphas there. Four seeds, each on or off, make 1, 2,
// 4, 8 and finally 16 groups. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace esper::kasmina {

// Alphas by seed id, 0..1; other seeds keep their alpha.
using Configuration = std::map<std::string, double>;

// How groups split at one slot: output group i continues group parents[i] with alphas[i].
struct Branching {
  std::int64_t groups_in = 1;
  std::vector<std::int64_t> parents;  // ascending
  std::vector<double> alphas;         // ascending within a parent

  // True if each group splits into the same alphas. Then there are groups_in times as many output groups as the first
  // one has.
  bool is_alike() const;
  bool operator==(const Branching&) const = default;
};

// alphas[c][s]: the alpha of configuration c at slot s, 0 if there is no seed. Slots are in order.
struct BranchPlan {
  std::vector<std::optional<Branching>> slots;  // empty where every configuration has alpha 0: the feature is unchanged
  std::vector<std::int64_t> group_of;           // of each configuration, among the output groups; equal ones share
  std::int64_t groups = 1;
};
BranchPlan plan_branches(std::span<const std::vector<double>> alphas);

// The same as tensors, on the device.
struct AlphaBranches {
  std::int64_t groups_in = 1;
  torch::Tensor parents;  // int64 [groups out]; undefined if groups split alike
  torch::Tensor alphas;   // float32 [groups out], or those of one group if groups split alike
};
AlphaBranches to_device(const Branching& branching, torch::Device device);

struct StackedPlan {
  std::vector<std::optional<AlphaBranches>> slots;  // by the host's slots
  std::vector<std::int64_t> group_of;               // of each configuration
  std::int64_t groups = 1;                          // the output has this many times the input's rows, group by group
};

}  // namespace esper::kasmina
