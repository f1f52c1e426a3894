#pragma once
// The network's forward over folded weights and a dense graph: fixed shapes, nothing read back, no decision on the
// host, so that it can be recorded. In fp32 it agrees with run_unfolded() within 1e-5. Any thread.

#include "tamiyo/graph/policy_outputs.h"
#include "tamiyo/network/dense_graph.h"
#include "tamiyo/network/folded_weights.h"

namespace esper::tamiyo {

// For the outputs of a graph with these caps.
at::Tensor make_output(const Caps& caps, c10::Device device = c10::kCPU);

// Writes `output`, from make_output() of the graph's caps.
void run_folded(const FoldedWeights& weights, const DenseGraph& graph, const at::Tensor& output);

// seeds, blueprints: nodes of the graph, without padding.
PolicyOutputs read_output(const at::Tensor& output, const Caps& caps, int seeds, int blueprints);

}  // namespace esper::tamiyo
