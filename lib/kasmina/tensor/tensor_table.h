#pragma once
// The tensors of one module, keyed by stable ids, and the scope that creates them. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace esper::kasmina {

// Ids identify tensors: "host.block1.conv.weight", "seed-0003.conv.weight". An id is never reused for another tensor.
struct NamedTensor {
  std::string id;
  torch::Tensor tensor;
};

std::uint64_t bytes_of(const std::vector<NamedTensor>& tensors);

// In order of creation. Parameters are trained (float32 leaves that require a gradient); buffers are untrained state.
// Modules hold the same tensors: write to them in place (copy_), never replace them.
struct TensorTable {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  std::int64_t num_parameters() const;
};
// Undefined if the table has no parameter of this id.
torch::Tensor find_parameter(const TensorTable& table, std::string_view id);
// The same for a buffer.
torch::Tensor find_buffer(const TensorTable& table, std::string_view id);
// The first elements of `source` along each dimension, as many as `like` has: a view.
torch::Tensor leading_part(torch::Tensor source, const torch::Tensor& like);

// Tensors, each with a saved value.
using TensorValues = std::vector<std::pair<torch::Tensor, torch::Tensor>>;
// Writes each value to its tensor, in place and in order.
void write_values(const TensorValues& values);

// Initial values of a parameter. Uniform: in [-bound, bound], PyTorch's default with bound = 1/sqrt(fan_in). Normal:
// mean 0.
struct Init {
  enum class Kind { kUniform, kNormal, kConstant } kind = Kind::kConstant;
  double value = 0;  // bound, standard deviation or the constant
};
inline constexpr Init kZeros{Init::Kind::kConstant, 0};
inline constexpr Init kOnes{Init::Kind::kConstant, 1};

// Creates tensors under a prefix. Each parameter draws from its own generator, seeded by (run seed, id): its values do
// not depend on the rest of the network or on when it grew. Values are drawn on the CPU, so every device starts with
// the same ones. A second tensor with the same id is a bug. Borrows the table.
class ModuleScope {
 public:
  ModuleScope(TensorTable& table, std::string prefix, std::uint64_t run_seed, torch::Device device);
  ModuleScope child(const std::string& name) const;
  torch::Tensor parameter(const std::string& name, torch::IntArrayRef shape, Init init);
  // One that begins with these values.
  torch::Tensor parameter(const std::string& name, const torch::Tensor& value);
  torch::Tensor buffer(const std::string& name, const torch::Tensor& value);

 private:
  std::string new_id(const std::string& name) const;

  TensorTable& table_;
  std::string prefix_;
  std::uint64_t run_seed_;
  torch::Device device_;
};

}  // namespace esper::kasmina
