#pragma once
// A small network by hand, for tests of the step: two layers with a tanh between, in two parameter groups if asked.

#include <torch/types.h>

#include <map>
#include <string>
#include <vector>

#include "step/train_step.h"

namespace esper::test {

enum class Grouping { kOne, kTwo };

struct SmallNet {
  torch::Tensor w1, b1, w2, b2;

  static SmallNet make(std::int64_t inputs = 6, std::int64_t hidden = 8, std::int64_t classes = 4);
  torch::Tensor forward(const torch::Tensor& x) const;
  std::vector<kasmina::ParameterGroup> groups(Grouping grouping = Grouping::kOne) const;
};

// A net and a state for the settings, ready to step.
struct Bench {
  SmallNet net = SmallNet::make();
  step::StepSettings settings;
  step::StepState state;

  explicit Bench(const step::StepSettings& with, Grouping grouping = Grouping::kOne);
  void step(const std::vector<step::Microbatch>& microbatches);
};

step::StepSettings plain_sgd(double lr = 0.1);
step::StepSettings adamw(double lr = 0.01);

// The same samples every time.
step::Microbatch samples(std::int64_t count, std::int64_t offset = 0);
std::vector<step::Microbatch> cut(const step::Microbatch& whole, const std::vector<std::int64_t>& sizes);

// Copies of all tensors of the state, by name.
std::map<std::string, torch::Tensor> snapshot(const step::StepState& state);
double largest_difference(const torch::Tensor& a, const torch::Tensor& b);
bool same_bits(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace esper::test
