#pragma once
// The feature table with what reads each feature from a node. A value that is not finite is absent. Any thread.

#include <span>

#include "tamiyo/graph/feature.h"
#include "tamiyo/graph/graph_nodes.h"

namespace esper::tamiyo {

template <class Node>
struct FeatureRow {
  Feature feature;
  double (*read)(const Node& node);
};

// run_features.cpp
std::span<const FeatureRow<GlobalNode>> global_rows();
std::span<const FeatureRow<SeedNode>> seed_rows();
std::span<const FeatureRow<BlueprintNode>> blueprint_rows();
// host_features.cpp
std::span<const FeatureRow<LayerNode>> layer_rows();
std::span<const FeatureRow<ActivationNode>> activation_rows();
std::span<const FeatureRow<ParameterNode>> parameter_rows();

// Calls visit(type, rows, nodes) for each type in the order of NodeType.
template <class Visit>
void for_each_type(const GraphNodes& nodes, Visit visit) {
  visit(NodeType::kGlobal, global_rows(), std::span(nodes.global));
  visit(NodeType::kSeed, seed_rows(), std::span(nodes.seeds));
  visit(NodeType::kBlueprint, blueprint_rows(), std::span(nodes.blueprints));
  visit(NodeType::kLayer, layer_rows(), std::span(nodes.layers));
  visit(NodeType::kActivation, activation_rows(), std::span(nodes.activations));
  visit(NodeType::kParameter, parameter_rows(), std::span(nodes.parameters));
}

}  // namespace esper::tamiyo
