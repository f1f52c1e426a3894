#pragma once
// One decision to learn from: what the network sees, and what it should answer. Plain data. Any thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "tamiyo/decision/action_table.h"
#include "tamiyo/graph/hetero_graph.h"

namespace esper::simic {

// Of a germination, how its seed is blended in, in the units of the network's heads.
struct BlendTarget {
  int curve = 0;
  float length = 0;  // of the schedule, 0..1
  float param = 0;   // policy_params[0]
};

struct Target {
  std::vector<tamiyo::Action> possible;  // wait among them
  tamiyo::Action action = tamiyo::Action::kWait;

  // Of kGerminate: rows of the seed nodes that it could have had, and of the blueprint nodes that fit the one it has.
  std::vector<int> slots, blueprints;
  int slot = -1, blueprint = -1;
  BlendTarget blend;

  std::optional<int> risk;  // level: 0 for what does no harm, the highest for a germination whose seed was removed
  float value = 0;          // validation accuracy that the run had at its end above that of now, 0..1
};

struct Lesson {
  tamiyo::HeteroGraph graph;
  Target target;
  std::size_t run = 0;      // that it is from
  std::uint32_t epoch = 0;  // after which it was decided
};

}  // namespace esper::simic
