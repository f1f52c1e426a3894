#pragma once
// The tensors of one module, keyed by stable ids, and the scope that creates them. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace esper::kasmina {

// Names are identity: "host.block1.conv.weight", "seed-0003.conv.weight". An id is never reused for another tensor.
struct NamedTensor {
  std::string id;
  torch::Tensor tensor;
};

// In order of creation. Parameters are trained (float32 leaves that require a gradient); buffers are state that is not.
// Modules hold the same tensors: write into them in place (copy_), never replace them.
struct TensorTable {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  std::int64_t num_parameters() const;
};

// Tensors, each with a value that it has at another time.
using TensorValues = std::vector<std::pair<torch::Tensor, torch::Tensor>>;
// Gives each tensor that value, in place and in order.
void write_values(const TensorValues& values);

// How a parameter starts. Uniform: in [-bound, bound], PyTorch's default with bound = 1/sqrt(fan_in). Normal: mean 0.
struct Init {
  enum class Kind { kUniform, kNormal, kConstant } kind = Kind::kConstant;
  double value = 0;  // bound, standard deviation or the constant
};
inline constexpr Init kZeros{Init::Kind::kConstant, 0};
inline constexpr Init kOnes{Init::Kind::kConstant, 1};

// Creates tensors under a prefix. Each parameter draws from a generator of its own, seeded by (run seed, id): what else
// the network holds, and when it grew, changes nothing. Values are drawn on the CPU, so every device starts the same.
// A second tensor of the same id is a bug. Borrows the table.
class ModuleScope {
 public:
  ModuleScope(TensorTable& table, std::string prefix, std::uint64_t run_seed, torch::Device device);
  ModuleScope child(const std::string& name) const;
  torch::Tensor parameter(const std::string& name, torch::IntArrayRef shape, Init init);
  torch::Tensor buffer(const std::string& name, const torch::Tensor& value);

 private:
  std::string new_id(const std::string& name) const;

  TensorTable& table_;
  std::string prefix_;
  std::uint64_t run_seed_;
  torch::Device device_;
};

}  // namespace esper::kasmina
