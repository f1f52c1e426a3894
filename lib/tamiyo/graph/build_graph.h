#pragma once
// From an observation to the graph that the policy network reads. Any thread.
//
// A decision is reproduced from its observation and the state of the normaliser before it:
//
//   GraphBuilder builder;
//   builder.read(observation);
//   builder.update(normaliser);  // part of the policy's state; left out where nothing is to be learned
//   const PolicyGraph& seen = builder.build(normaliser);

#include "leyline/observation.h"
#include "tamiyo/graph/candidates.h"
#include "tamiyo/graph/coverage.h"
#include "tamiyo/graph/graph_nodes.h"
#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/graph/node_features.h"
#include "tamiyo/graph/normaliser.h"

namespace esper::tamiyo {

struct PolicyGraph {
  HeteroGraph graph;
  Candidates candidates;
  Coverage coverage;
};

// Keeps its memory from graph to graph.
class GraphBuilder {
 public:
  // The observation must outlive build().
  void read(const leyline::Observation& observation);
  void update(Normaliser& normaliser) const { normaliser.update(samples()); }
  // What update() takes.
  Samples samples() const { return samples_of(values_); }
  // Of what was read last. Valid until the next build().
  const PolicyGraph& build(const Normaliser& normaliser);

 private:
  GraphNodes nodes_;
  FeatureValues values_;
  PolicyGraph built_;
};

}  // namespace esper::tamiyo
