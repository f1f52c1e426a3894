#pragma once
// The network's tensors: their names, which are those of the PyTorch Geometric module's state_dict
// (apps/engine/bench_policy/policy_network.py), and their shapes. Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> shape;
};

// All 466, in the order of the state_dict.
const std::vector<TensorSpec>& network_tensors();

// "encoders.seed.": before "0.weight" (the linear layer) and "2.weight" (the norm).
std::string encoder_prefix(NodeType type);

// "convs.0.convs.<seed___peer___seed>.": before "lin_l.weight", "att_src", ...
std::string relation_prefix(int layer, int relation);

// "seed___peer___seed"
std::string relation_key(int relation);

}  // namespace esper::tamiyo
