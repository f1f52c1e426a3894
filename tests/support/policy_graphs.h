#pragma once
// Graphs and weights for tests and benchmarks of the policy network.

#include <ATen/core/Tensor.h>

#include <array>
#include <cmath>
#include <random>

#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/network/tensor_names.h"
#include "tamiyo/network/uniform_tensor.h"
#include "tamiyo/network/weights.h"

namespace esper::test {

// Weights as scripts/record_tamiyo_parity.py has them: no tensor is zero or constant, heads included, since zeros hide
// errors.
inline tamiyo::Weights dense_weights() {
  constexpr std::uint64_t kSeed = 14;
  tamiyo::Weights weights;
  for (const auto& [name, shape] : tamiyo::network_tensors()) {
    const auto bound = static_cast<float>(std::sqrt(3.0 / static_cast<double>(shape.back())));
    at::Tensor values = tamiyo::uniform_tensor(kSeed, name, shape, bound);
    const bool is_norm = name.starts_with("encoders.") && name.ends_with(".2.weight");
    weights[name] = is_norm ? values + 1 : values;
  }
  return weights;
}

struct GraphShape {
  std::array<int, tamiyo::kNodeTypes> nodes{};  // by NodeType
  double density = 0.4;                         // of all possible edges of each relation
  bool every_second_relation = false;           // the others have no edge
};

inline tamiyo::HeteroGraph random_graph(const GraphShape& shape, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> feature;
  std::uniform_real_distribution<double> uniform;
  tamiyo::HeteroGraph graph;
  for (std::size_t type = 0; type < tamiyo::kNodeTypes; ++type) {
    graph.nodes[type].count = shape.nodes[type];
    for (int i = 0; i < shape.nodes[type] * tamiyo::kNodeFeatures[type]; ++i) {
      graph.nodes[type].features.push_back(feature(generator));
    }
  }
  for (std::size_t i = 0; i < tamiyo::kRelations; ++i) {
    if (shape.every_second_relation && i % 2 == 0) continue;
    const auto& relation = tamiyo::kRelationTable[i];
    for (int source = 0; source < shape.nodes[static_cast<std::size_t>(relation.source)]; ++source) {
      for (int target = 0; target < shape.nodes[static_cast<std::size_t>(relation.target)]; ++target) {
        if (uniform(generator) >= shape.density) continue;
        graph.edges[i].source.push_back(source);
        graph.edges[i].target.push_back(target);
        for (int k = 0; k < tamiyo::kEdgeFeatures; ++k) {
          graph.edges[i].attributes.push_back(static_cast<float>(2 * uniform(generator) - 0.5));
        }
      }
    }
  }
  return graph;
}

// 8, 30 and 100 nodes.
inline constexpr std::array<GraphShape, 3> kGraphShapes = {
    {{{1, 1, 2, 2, 1, 1}, 0.7}, {{1, 8, 8, 9, 2, 2}, 0.4}, {{1, 24, 24, 36, 8, 7}, 0.2}}};

}  // namespace esper::test
