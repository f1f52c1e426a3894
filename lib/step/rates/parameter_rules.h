#pragma once
// Learning rates and weight decay of single parameters, where the run sets them apart. Training thread.

#include <torch/types.h>

#include <span>
#include <string>
#include <vector>

#include "config/training_config.h"
#include "kasmina/tensor/tensor_table.h"

namespace esper::step {

struct ParameterRules {
  std::vector<config::Entry<config::GroupRule>> groups;  // the first whose pattern a name fits counts
  bool decay_norms_and_biases = true;                    // else parameters of one dimension have no weight decay
};

// By element of a group's flat tensor, float32. Undefined where all parameters have the optimizer's own.
struct ElementFactors {
  torch::Tensor lr;     // factor on the learning rate
  torch::Tensor decay;  // sgd: weight decay; adamw: weight decay times that factor
};

// Throws Error{kConfig} where a rule's pattern fits none of the host's parameters.
void check_rules(const ParameterRules& rules, std::span<const kasmina::NamedTensor> host);

// Patterns are of the host's ids, also without the "host." before them; seeds have the optimizer's own numbers. Of the
// parameters, in their order.
ElementFactors element_factors(const ParameterRules& rules, const config::OptimizerConfig& optimizer,
                               std::span<const std::string> ids, torch::TensorList parameters);

}  // namespace esper::step
