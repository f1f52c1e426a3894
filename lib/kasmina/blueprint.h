#pragma once
// The catalogue of modules that can be grown: one table for training, policy, docs and tests. docs/blueprints.md is
// printed from it. leyline/blueprint_table.h has the names and what they fit for those who come before any tensor: a
// new row goes there as well, and a test tells if it does not. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kasmina/host.h"

namespace esper::kasmina {

using SeedForward = std::function<torch::Tensor(const torch::Tensor& feature, Mode mode)>;

// A grown module: feature in, feature of the same shape out. No blueprint has buffers or draws random numbers in its
// forward, so a seed that is not used cannot disturb the rest.
struct SeedModule {
  TensorTable tensors;
  SeedForward forward;
};

// Whether a module's output is, at each position (sample, pixel, token) alone, a matrix times the feature's channels
// there plus an offset, the same at all positions. Such a module can be folded into a linear layer that takes its
// output.
enum class Algebra { kOther, kAffine };

struct Blueprint {
  std::string_view name;
  FeatureKind fits;         // the kind of feature it can be grown at
  int policy_index;         // position in the policy's blueprint head; part of the contract
  std::string_view module;  // what it computes, x being the feature
  // How it starts: "neutral: why" if its output equals its input at birth, else in words.
  std::string_view start;
  std::string_view formula;  // of the parameter count, for the docs
  std::int64_t (*num_parameters)(const FeatureShape& shape);
  // Multiply-adds of one forward of one sample: convolutions, linear layers and attention in full, one an element for a
  // norm or a scaling; activations and sums are not counted.
  std::int64_t (*flops)(const FeatureShape& shape);
  std::string (*refusal)(const FeatureShape& shape);  // for a feature of the kind it fits: why not, or empty
  SeedForward (*build)(ModuleScope scope, const FeatureShape& shape);
  Algebra algebra = Algebra::kOther;
};

const std::vector<Blueprint>& blueprints();
// Null if there is none of this name for this kind of feature.
const Blueprint* find_blueprint(std::string_view name, FeatureKind kind);
// Why it cannot be grown at such a feature, as a clause for a sentence; empty if it can.
std::string refusal(const Blueprint& blueprint, const FeatureShape& shape);
// The tensors' ids begin with the seed's: "seed-0001.conv.weight". It must not be refused.
SeedModule build_seed(const Blueprint& blueprint, const FeatureShape& shape, const std::string& seed_id,
                      std::uint64_t run_seed, torch::Device device);

// "features", "image", "sequence"
std::string_view to_string(FeatureKind kind);
// The text of docs/blueprints.md.
std::string blueprint_markdown();

}  // namespace esper::kasmina
