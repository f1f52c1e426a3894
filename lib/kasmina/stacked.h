#pragma once
// Many configurations of one network in one forward. A configuration says how much of each seed is heard; the rows of a
// batch are copied only where configurations first differ, so blocks before a slot run once for all that agree up to
// it.
//
// Rows stand in groups: a group is the whole batch once, and serves all configurations that agree so far. One group
// comes in; at a slot each group parts into as many as it has different alphas there. Four seeds, each on or off, make
// 1, 2, 4, 8 and at last 16 groups. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace esper::kasmina {

// Alphas by seed id, 0..1; a seed that is not named keeps the alpha it has.
using Configuration = std::map<std::string, double>;

// What happens to groups at one slot: group i of those that leave continues group parents[i] with alphas[i].
struct Branching {
  std::int64_t groups_in = 1;
  std::vector<std::int64_t> parents;  // ascending
  std::vector<double> alphas;         // ascending within a parent

  // Whether each group parts into the same alphas. Then the groups that leave are groups_in times those of the first.
  bool is_alike() const;
  bool operator==(const Branching&) const = default;
};

// alphas[c][s]: what configuration c wants at slot s, 0 where there is no seed. Slots are passed in order.
struct BranchPlan {
  std::vector<std::optional<Branching>>
      slots;                           // empty where no configuration hears a seed: the feature goes on as it is
  std::vector<std::int64_t> group_of;  // of each configuration, among the groups that come out; equal ones share
  std::int64_t groups = 1;
};
BranchPlan plan_branches(std::span<const std::vector<double>> alphas);

// The same as tensors, on the device.
struct AlphaBranches {
  std::int64_t groups_in = 1;
  torch::Tensor parents;  // int64 [groups out]; undefined where groups part alike
  torch::Tensor alphas;   // float32 [groups out], or those of one group where groups part alike
};
AlphaBranches to_device(const Branching& branching, torch::Device device);

struct StackedPlan {
  std::vector<std::optional<AlphaBranches>> slots;  // by the host's slots
  std::vector<std::int64_t> group_of;               // of each configuration
  std::int64_t groups = 1;                          // the output has this many times the input's rows, group by group
};

}  // namespace esper::kasmina
