#include "tamiyo/graph/edges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "tamiyo/graph/relation_index.h"

namespace esper::tamiyo {
namespace {

using Attributes = std::array<double, kEdgeFeatures>;

double or_zero(double value) { return std::isfinite(value) ? value : 0; }

// As the features of the same name.
double stage_of(const SeedNode& seed) {
  return static_cast<double>(seed.stage) / static_cast<double>(leyline::Stage::kTerminated);
}
double stage_of(const BlueprintNode& blueprint) { return static_cast<double>(blueprint.stage) / 10; }

// Where the usual value lies between the least and the largest.
double ratio_of(const ParameterNode& node) {
  const auto& [name, min, max, usual] = *node.parameter;
  const double ratio = (usual - min) / (max - min);
  return std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0;
}

double mean_risk(const std::vector<SeedNode>& seeds) {
  double sum = 0, known = 0;
  for (const auto& seed : seeds) {
    if (std::isfinite(seed.risk)) sum += seed.risk, ++known;
  }
  return known > 0 ? sum / known : 0;
}

void link(EdgeList& list, std::size_t source, std::size_t target, const Attributes& attributes) {
  list.source.push_back(static_cast<std::int32_t>(source));
  list.target.push_back(static_cast<std::int32_t>(target));
  for (const double value : attributes) list.attributes.push_back(static_cast<float>(value));
}

// A relation and the one that leads back.
struct Ways {
  std::size_t there, back;
};

void link(HeteroGraph& graph, Ways ways, std::size_t source, std::size_t target, const Attributes& attributes) {
  link(graph.edges[ways.there], source, target, attributes);
  link(graph.edges[ways.back], target, source, attributes);
}

void link_run(const GraphNodes& nodes, HeteroGraph& graph) {
  constexpr Ways kSeeds{relation_index(NodeType::kGlobal, "influences"), relation_index(NodeType::kSeed, "reports")};
  constexpr Ways kBlueprints{relation_index(NodeType::kGlobal, "annotates"),
                             relation_index(NodeType::kBlueprint, "monitored_by")};
  constexpr Ways kLayers{relation_index(NodeType::kGlobal, "operates"), relation_index(NodeType::kLayer, "feedback")};
  for (std::size_t i = 0; i < nodes.seeds.size(); ++i) {
    link(graph, kSeeds, 0, i, {1, stage_of(nodes.seeds[i]), or_zero(nodes.seeds[i].risk)});
  }
  for (std::size_t i = 0; i < nodes.blueprints.size(); ++i) {
    link(graph, kBlueprints, 0, i, {1, stage_of(nodes.blueprints[i]), or_zero(nodes.blueprints[i].risk)});
  }
  const double risk = mean_risk(nodes.seeds);
  for (std::size_t i = 0; i < nodes.layers.size(); ++i) link(graph, kLayers, 0, i, {1, nodes.layers[i].depth, risk});
}

void link_seeds(const GraphNodes& nodes, HeteroGraph& graph) {
  constexpr auto kPeer = relation_index(NodeType::kSeed, "peer");
  constexpr Ways kLayers{relation_index(NodeType::kSeed, "monitors"), relation_index(NodeType::kLayer, "monitored_by")};
  constexpr Ways kParameters{relation_index(NodeType::kSeed, "allowed"),
                             relation_index(NodeType::kParameter, "associated")};
  for (std::size_t i = 0; i < nodes.seeds.size(); ++i) {
    const auto& seed = nodes.seeds[i];
    for (std::size_t other = 0; other < nodes.seeds.size(); ++other) {
      if (other != i) link(graph.edges[kPeer], i, other, {0.5, 0, 0});
    }
    if (seed.layer >= 0) {
      const auto layer = static_cast<std::size_t>(seed.layer);
      link(graph, kLayers, i, layer, {stage_of(seed), or_zero(seed.risk), nodes.layers[layer].depth});
    }
    if (!seed.empty_slot || !seed.may_blend) continue;
    for (std::size_t p = 0; p < nodes.parameters.size(); ++p) link(graph, kParameters, i, p, {1, 1, stage_of(seed)});
  }
}

void link_blueprints(const GraphNodes& nodes, HeteroGraph& graph) {
  constexpr Ways kLayers{relation_index(NodeType::kBlueprint, "composes"),
                         relation_index(NodeType::kLayer, "belongs_to")};
  constexpr auto kEnergizes = relation_index(NodeType::kBlueprint, "energizes");
  for (std::size_t i = 0; i < nodes.seeds.size(); ++i) {
    if (nodes.seeds[i].layer < 0) continue;
    const auto place = static_cast<std::size_t>(nodes.seeds[i].layer);
    const auto& layer = nodes.layers[place];
    for (const int fit : nodes.candidates.fits[i]) {
      const auto blueprint = static_cast<std::size_t>(fit);
      const Attributes attributes{or_zero(nodes.blueprints[blueprint].risk), layer.depth, 1};
      link(graph, kLayers, blueprint, place, attributes);
      if (layer.activation < 0) continue;
      link(graph.edges[kEnergizes], blueprint, static_cast<std::size_t>(layer.activation), attributes);
    }
  }
}

void link_host(const GraphNodes& nodes, HeteroGraph& graph) {
  constexpr Ways kOwn{relation_index(NodeType::kLayer, "activates"), relation_index(NodeType::kActivation, "affects")};
  constexpr auto kConnects = relation_index(NodeType::kLayer, "connects");
  constexpr auto kFeeds = relation_index(NodeType::kLayer, "feeds");
  const double risk = mean_risk(nodes.seeds);
  std::size_t activations = 0;  // of the blocks before this one
  for (std::size_t i = 0; i < nodes.layers.size(); ++i) {
    const auto& [block, depth, own] = nodes.layers[i];
    if (i + 1 < nodes.layers.size()) link(graph.edges[kConnects], i, i + 1, {depth, nodes.layers[i + 1].depth, risk});
    // The first activation that its output reaches: its own, or that of a later block.
    if (activations < nodes.activations.size()) {
      link(graph.edges[kFeeds], i, activations, {depth, nodes.activations[activations].depth, 1});
    }
    if (own < 0) continue;
    link(graph, kOwn, i, activations, {depth, depth, 1});
    ++activations;
  }
}

void link_parameters(const GraphNodes& nodes, HeteroGraph& graph) {
  constexpr Ways kActivations{relation_index(NodeType::kActivation, "configures"),
                              relation_index(NodeType::kParameter, "modulates")};
  constexpr auto kTargets = relation_index(NodeType::kParameter, "targets");
  for (std::size_t p = 0; p < nodes.parameters.size(); ++p) {
    const double ratio = ratio_of(nodes.parameters[p]);
    for (std::size_t a = 0; a < nodes.activations.size(); ++a) {
      link(graph, kActivations, a, p, {nodes.activations[a].depth, ratio, 1});
    }
    for (std::size_t b = 0; b < nodes.blueprints.size(); ++b) {
      link(graph.edges[kTargets], p, b, {ratio, or_zero(nodes.blueprints[b].risk), 1});
    }
  }
}

}  // namespace

void build_edges(const GraphNodes& nodes, HeteroGraph& graph) {
  for (auto& list : graph.edges) {
    list.source.clear();
    list.target.clear();
    list.attributes.clear();
  }
  link_run(nodes, graph);
  link_seeds(nodes, graph);
  link_blueprints(nodes, graph);
  link_host(nodes, graph);
  link_parameters(nodes, graph);
}

}  // namespace esper::tamiyo
