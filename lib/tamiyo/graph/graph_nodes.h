#pragma once
// Which nodes an observation has, and what is known of each before it is scaled. Points into the observation. Any
// thread.

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "leyline/blueprint/blueprint_table.h"
#include "leyline/observation.h"
#include "tamiyo/graph/candidates.h"
#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

// Not known, or not measured. Whatever is not finite counts as absent.
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

struct GlobalNode {
  const leyline::Observation* seen = nullptr;
  int growing_seeds = 0;
};

// A growing seed, or an empty slot: one of the two is null.
struct SeedNode {
  const leyline::SeedState* state = nullptr;
  const leyline::SlotState* empty_slot = nullptr;
  const leyline::BlueprintFacts* facts = nullptr;  // of a seed; null: not in the catalogue
  leyline::Stage stage = leyline::Stage::kUnknown;
  double depth = kAbsent;  // of its slot: 0 nearest the input .. 1 nearest the output
  double risk = kAbsent;   // chance that it does harm
  bool may_blend = false;  // the next command may begin its blend
  int layer = -1;          // node of the block before its slot; -1: none
};

// A blueprint that fits an empty slot.
struct BlueprintNode {
  std::string_view name;
  const leyline::BlueprintFacts* facts = nullptr;  // null: not in the catalogue
  const leyline::Observation* seen = nullptr;
  double parameters = kAbsent;                      // the fewest that it would have in an empty slot
  double risk = kAbsent;                            // share of the step that it would take where it takes the least
  leyline::Stage stage = leyline::Stage::kUnknown;  // the highest of its seeds'
};

struct LayerNode {
  const leyline::BlockState* block = nullptr;
  double depth = 0;     // 0: the first block .. 1: the last
  int activation = -1;  // its node; -1: none
};

struct ActivationNode {
  const leyline::BlockState* block = nullptr;
  double depth = 0;  // its layer's
};

struct ParameterNode {
  const leyline::CommandParameter* parameter = nullptr;
  double risk = kAbsent;  // mean of the blueprints'
};

struct GraphNodes {
  std::array<GlobalNode, 1> global;
  std::vector<SeedNode> seeds;
  std::vector<BlueprintNode> blueprints;
  std::vector<LayerNode> layers;
  std::vector<ActivationNode> activations;
  std::vector<ParameterNode> parameters;
  Candidates candidates;
  std::array<int, kNodeTypes> left_out{};  // beyond kNodeCaps
};

// Replaces what `nodes` held, and reuses its memory. The observation must outlive the use of `nodes`.
void find_nodes(const leyline::Observation& observation, GraphNodes& nodes);

}  // namespace esper::tamiyo
