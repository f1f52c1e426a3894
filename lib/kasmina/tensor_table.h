#pragma once
// The tensors of one module, keyed by stable ids, and the scope that creates them. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace esper::kasmina {

// Names are identity: "host.block1.conv.weight", "seed-0003.conv.weight". An id is never reused for another tensor.
struct NamedTensor {
  std::string id;
  torch::Tensor tensor;
};

// In order of creation. Parameters are trained (float32 leaves that require a gradient); buffers are state that is not.
struct TensorTable {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  std::int64_t num_parameters() const;
};

// How a parameter starts. Uniform: in [-bound, bound], PyTorch's default with bound = 1/sqrt(fan_in). Normal: mean 0.
struct Init {
  enum class Kind { kUniform, kNormal, kConstant } kind = Kind::kConstant;
  double value = 0;  // bound, standard deviation or the constant
};

// Creates tensors under a prefix. Each parameter draws from a generator of its own, seeded by (run seed, id): what else
// the network holds, and when it grew, changes nothing.
class ModuleScope {
 public:
  ModuleScope(TensorTable& table, std::string prefix, std::uint64_t run_seed, torch::Device device);
  ModuleScope child(const std::string& name) const;
  torch::Tensor parameter(const std::string& name, torch::IntArrayRef shape, Init init);
  torch::Tensor buffer(const std::string& name, const torch::Tensor& value);

 private:
  TensorTable& table_;
  std::string prefix_;
  std::uint64_t run_seed_;
  torch::Device device_;
};

}  // namespace esper::kasmina
