#include "tamiyo/network/policy_network.h"

#include <chrono>

#include "base/error.h"
#include "tamiyo/network/check_graph.h"

namespace esper::tamiyo {

HeteroGraph tiny_graph() {
  HeteroGraph graph;
  for (std::size_t type = 0; type < kNodeTypes; ++type) {
    graph.nodes[type] = {1, std::vector<float>(static_cast<std::size_t>(kNodeFeatures[type]))};
  }
  for (EdgeList& edges : graph.edges) edges = {{0}, {0}, std::vector<float>(kEdgeFeatures)};
  return graph;
}

base::Expected<PolicyOutputs> PolicyNetwork::run(const HeteroGraph& graph) {
  if (auto checked = check_graph(graph); !checked) return base::failure(checked.error());
  const auto caps = caps_for(graph);
  if (!caps) return base::failure(caps.error());
  return padded(*caps).run(graph);
}

PaddedNetwork& PolicyNetwork::padded(const Caps& caps) {
  if (const auto found = padded_.find(caps); found != padded_.end()) return found->second;
  if (padded_.size() >= kMostCaps) padded_.clear();
  return padded_.try_emplace(caps, weights_, caps).first->second;
}

double PolicyNetwork::warm_up() {
  const auto begin = std::chrono::steady_clock::now();
  const auto outputs = run(tiny_graph());
  ESPER_CHECK(outputs.has_value(), "the tiny graph is one that the network takes");
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace esper::tamiyo
