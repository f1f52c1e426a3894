#pragma once
// The policy network as the service asks it: one graph in, what the heads answer out. One thread at a time.

#include <map>
#include <utility>

#include "base/expected.h"
#include "tamiyo/graph/policy_outputs.h"
#include "tamiyo/network/padded_network.h"

namespace esper::tamiyo {

// One node of each type and one edge of each relation.
HeteroGraph tiny_graph();

class PolicyNetwork {
 public:
  explicit PolicyNetwork(const Weights& weights) : PolicyNetwork(fold(weights)) {}
  // Networks over the same weights share their memory.
  explicit PolicyNetwork(FoldedWeights weights) : weights_(std::move(weights)) {}
  PolicyNetwork(const PolicyNetwork&) = delete;
  PolicyNetwork& operator=(const PolicyNetwork&) = delete;

  // Fails, with the reason, for a graph that check_graph() or caps_for() refuses or that has an edge twice. Numbers
  // that are not finite pass through.
  base::Expected<PolicyOutputs> run(const HeteroGraph& graph);

  // The network for these caps, made at its first use; until the next call with other caps.
  PaddedNetwork& padded(const Caps& caps);

  const FoldedWeights& weights() const { return weights_; }

  // Runs the tiny graph, so that the first graph does not pay for what torch prepares once. Returns the milliseconds.
  double warm_up();

 private:
  // Caps with their own memory; beyond that all are rebuilt.
  static constexpr std::size_t kMostCaps = 32;

  FoldedWeights weights_;
  std::map<Caps, PaddedNetwork> padded_;
};

}  // namespace esper::tamiyo
