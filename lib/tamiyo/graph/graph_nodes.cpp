#include "tamiyo/graph/graph_nodes.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "leyline/blueprint/blueprint_name.h"
#include "tamiyo/graph/node_caps.h"

namespace esper::tamiyo {

using leyline::BlueprintFacts;
using leyline::Observation;
using leyline::SlotState;
using leyline::Stage;

namespace {

int cap_of(NodeType type) { return kNodeCaps[static_cast<std::size_t>(type)]; }
int& left_out_of(GraphNodes& nodes, NodeType type) { return nodes.left_out[static_cast<std::size_t>(type)]; }

// A place among `count`, from 0 to 1.
double depth_at(std::size_t place, std::size_t count) {
  return count < 2 ? 0 : std::min(1.0, static_cast<double>(place) / static_cast<double>(count - 1));
}

bool grows(const leyline::SeedState& seed) {
  return seed.stage >= Stage::kGerminated && seed.stage <= Stage::kProbationary;
}

bool is_empty(const SlotState& slot) { return slot.stage == Stage::kDormant; }

// Of any kind of feature where there is none of this one: a name has the same index everywhere.
const BlueprintFacts* facts_of_name(std::string_view blueprint, leyline::FeatureKind kind) {
  const auto name = leyline::without_copies(blueprint);
  if (const auto* facts = leyline::find_blueprint_facts(name, kind)) return facts;
  const auto table = leyline::blueprint_table();
  const auto found = std::ranges::find(table, name, &BlueprintFacts::name);
  return found == table.end() ? nullptr : &*found;
}

// That a normal variable with that mean and standard error is below 0.
double chance_below_zero(double mean, double error) {
  if (!std::isfinite(mean) || !std::isfinite(error)) return kAbsent;
  if (error > 0) return 0.5 * std::erfc(mean / (error * std::numbers::sqrt2));
  return mean < 0 ? 1 : mean > 0 ? 0 : 0.5;
}

double risk_of(const leyline::SeedFigures& figures) {
  const auto& worth = figures.worth;
  if (worth.loss && worth.loss_stderr) return chance_below_zero(*worth.loss, *worth.loss_stderr);
  if (figures.contribution_points && figures.contribution_stderr_points) {
    return chance_below_zero(*figures.contribution_points, *figures.contribution_stderr_points);
  }
  return kAbsent;
}

// The blocks that a slot follows, then the others, as many as there may be; in the order of the network.
void find_layers(const Observation& observation, GraphNodes& nodes) {
  const auto& blocks = observation.blocks;
  const auto cap = static_cast<std::ptrdiff_t>(cap_of(NodeType::kLayer));
  const auto with_slot =
      std::min(cap, std::ranges::count_if(blocks, [](const auto& block) { return !block.slot.empty(); }));
  auto room_with_slot = with_slot, room_without = cap - with_slot;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto& room = blocks[i].slot.empty() ? room_without : room_with_slot;
    if (room == 0) {
      ++left_out_of(nodes, NodeType::kLayer);
      continue;
    }
    --room;
    LayerNode layer{&blocks[i], depth_at(i, blocks.size())};
    if (blocks[i].activation != leyline::ActivationKind::kNone) {
      layer.activation = static_cast<int>(nodes.activations.size());
      nodes.activations.push_back({&blocks[i], layer.depth});
    }
    nodes.layers.push_back(layer);
  }
}

int layer_before(const std::string& slot, const std::vector<LayerNode>& layers) {
  const auto found = std::ranges::find_if(layers, [&](const LayerNode& layer) { return layer.block->slot == slot; });
  return found == layers.end() || slot.empty() ? -1 : static_cast<int>(found - layers.begin());
}

// Adds a node and its candidate, unless there are too many.
void add_seed(const SeedNode& node, const std::string& slot, GraphNodes& nodes) {
  if (static_cast<int>(nodes.seeds.size()) == cap_of(NodeType::kSeed)) {
    ++left_out_of(nodes, NodeType::kSeed);
    return;
  }
  nodes.seeds.push_back(node);
  nodes.seeds.back().layer = layer_before(slot, nodes.layers);
  nodes.candidates.seeds.push_back({node.state ? node.state->seed_id : std::string(), slot, node.stage});
}

void find_seeds(const Observation& observation, GraphNodes& nodes) {
  const auto& slots = observation.slots;
  for (const auto& state : observation.seed_states) {
    if (!grows(state)) continue;
    ++nodes.global[0].growing_seeds;
    add_seed({.state = &state,
              .facts = facts_of_name(state.blueprint, leyline::FeatureKind::kFeatures),
              .stage = state.stage,
              .depth = slots.empty() ? kAbsent : depth_at(state.layer_depth, slots.size()),
              .risk = risk_of(state.figures),
              .may_blend = state.stage == Stage::kTraining},
             state.slot, nodes);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!is_empty(slots[i])) continue;
    add_seed({.empty_slot = &slots[i],
              .stage = slots[i].stage,
              .depth = depth_at(i, slots.size()),
              .may_blend = observation.germination_barred.empty() && !slots[i].blueprints.empty()},
             slots[i].slot, nodes);
  }
}

// The smaller of the two; what is absent does not count.
double least(double known, double other) { return std::fmin(known, other); }

void add_blueprints(const SlotState& slot, const Observation& observation, std::vector<BlueprintNode>& blueprints) {
  for (std::size_t i = 0; i < slot.blueprints.size(); ++i) {
    auto found = std::ranges::find(blueprints, slot.blueprints[i], &BlueprintNode::name);
    if (found == blueprints.end()) {
      blueprints.push_back({slot.blueprints[i], facts_of_name(slot.blueprints[i], slot.kind), &observation});
      found = blueprints.end() - 1;
    }
    if (i < slot.parameters.size())
      found->parameters = least(found->parameters, static_cast<double>(slot.parameters[i]));
    if (i < slot.step_costs.size()) {
      const double cost = slot.step_costs[i];
      found->risk = least(found->risk, cost >= 0 ? cost / (1 + cost) : kAbsent);
    }
  }
}

// In the order of the catalogue; those that it lacks come last, by name.
void keep_first(std::vector<BlueprintNode>& blueprints, GraphNodes& nodes) {
  std::ranges::sort(blueprints, {}, [](const BlueprintNode& node) {
    return std::pair{node.facts ? node.facts->policy_index : std::numeric_limits<int>::max(), node.name};
  });
  const auto cap = static_cast<std::size_t>(cap_of(NodeType::kBlueprint));
  if (blueprints.size() <= cap) return;
  left_out_of(nodes, NodeType::kBlueprint) = static_cast<int>(blueprints.size() - cap);
  blueprints.resize(cap);
}

void find_blueprints(const Observation& observation, GraphNodes& nodes) {
  for (const auto& slot : observation.slots) {
    if (is_empty(slot)) add_blueprints(slot, observation, nodes.blueprints);
  }
  keep_first(nodes.blueprints, nodes);
  for (auto& node : nodes.blueprints) {
    for (const auto& seed : observation.seed_states) {
      if (leyline::without_copies(seed.blueprint) == leyline::without_copies(node.name)) {
        node.stage = std::max(node.stage, seed.stage);
      }
    }
    nodes.candidates.blueprints.emplace_back(node.name);
  }
}

std::vector<int> fits_of(const SlotState& slot, const std::vector<std::string>& blueprints) {
  std::vector<int> fits;
  for (std::size_t b = 0; b < blueprints.size(); ++b) {
    if (std::ranges::find(slot.blueprints, blueprints[b]) != slot.blueprints.end()) fits.push_back(static_cast<int>(b));
  }
  return fits;
}

// Most slots take the same blueprints as the one before.
void find_fits(GraphNodes& nodes) {
  auto& fits = nodes.candidates.fits;
  const SlotState* before = nullptr;
  std::vector<int> those;
  for (const auto& node : nodes.seeds) {
    const auto* slot = node.empty_slot;
    if (slot && !(before && before->blueprints == slot->blueprints)) {
      those = fits_of(*slot, nodes.candidates.blueprints);
      before = slot;
    }
    fits.push_back(slot ? those : std::vector<int>());
  }
}

void find_parameters(const Observation& observation, GraphNodes& nodes) {
  double sum = 0, known = 0;
  for (const auto& node : nodes.blueprints) {
    if (std::isfinite(node.risk)) sum += node.risk, ++known;
  }
  const double risk = known > 0 ? sum / known : kAbsent;
  const auto cap = static_cast<std::size_t>(cap_of(NodeType::kParameter));
  for (const auto& parameter : observation.parameters) {
    if (nodes.parameters.size() == cap) break;
    nodes.parameters.push_back({&parameter, risk});
  }
  left_out_of(nodes, NodeType::kParameter) = static_cast<int>(observation.parameters.size() - nodes.parameters.size());
}

void clear(GraphNodes& nodes) {
  nodes.seeds.clear();
  nodes.blueprints.clear();
  nodes.layers.clear();
  nodes.activations.clear();
  nodes.parameters.clear();
  nodes.candidates.seeds.clear();
  nodes.candidates.blueprints.clear();
  nodes.candidates.fits.clear();
  nodes.left_out = {};
}

}  // namespace

void find_nodes(const Observation& observation, GraphNodes& nodes) {
  clear(nodes);
  nodes.global[0] = {&observation};
  find_layers(observation, nodes);
  find_seeds(observation, nodes);
  find_blueprints(observation, nodes);
  find_parameters(observation, nodes);
  find_fits(nodes);
}

}  // namespace esper::tamiyo
