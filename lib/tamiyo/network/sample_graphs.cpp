#include "tamiyo/network/sample_graphs.h"

#include <ATen/Functions.h>

#include <cmath>
#include <random>

#include "tamiyo/network/tensor_names.h"
#include "tamiyo/network/uniform_tensor.h"

namespace esper::tamiyo {

Weights dense_weights() {
  constexpr std::uint64_t kSeed = 14;
  Weights weights;
  for (const auto& [name, shape] : network_tensors()) {
    const auto bound = static_cast<float>(std::sqrt(3.0 / static_cast<double>(shape.back())));
    const at::Tensor values = uniform_tensor(kSeed, name, shape, bound);
    const bool is_norm = name.starts_with("encoders.") && name.ends_with(".2.weight");
    weights[name] = is_norm ? values + 1 : values;
  }
  return weights;
}

HeteroGraph random_graph(const GraphShape& shape, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> feature;
  std::uniform_real_distribution<double> uniform;
  HeteroGraph graph;
  for (std::size_t type = 0; type < kNodeTypes; ++type) {
    graph.nodes[type].count = shape.nodes[type];
    for (int i = 0; i < shape.nodes[type] * kNodeFeatures[type]; ++i) {
      graph.nodes[type].features.push_back(feature(generator));
    }
  }
  for (std::size_t i = 0; i < kRelations; ++i) {
    if (shape.every_second_relation && i % 2 == 0) continue;
    EdgeList& edges = graph.edges[i];
    for (int source = 0; source < shape.nodes[static_cast<std::size_t>(kRelationTable[i].source)]; ++source) {
      for (int target = 0; target < shape.nodes[static_cast<std::size_t>(kRelationTable[i].target)]; ++target) {
        if (uniform(generator) >= shape.density) continue;
        edges.source.push_back(source);
        edges.target.push_back(target);
        for (int k = 0; k < kEdgeFeatures; ++k) {
          edges.attributes.push_back(static_cast<float>(2 * uniform(generator) - 0.5));
        }
      }
    }
  }
  return graph;
}

int count_nodes(const HeteroGraph& graph) {
  int count = 0;
  for (const NodeTable& table : graph.nodes) count += table.count;
  return count;
}

}  // namespace esper::tamiyo
