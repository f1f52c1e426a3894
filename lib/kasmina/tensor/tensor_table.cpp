#include "kasmina/tensor/tensor_table.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "device/rng.h"

namespace esper::kasmina {
namespace {

bool holds(const std::vector<NamedTensor>& tensors, const std::string& id) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const NamedTensor& named) { return named.id == id; });
}

torch::Tensor draw(torch::IntArrayRef shape, Init init, std::uint64_t seed) {
  switch (init.kind) {
    case Init::Kind::kConstant:
      return at::full(shape, init.value, torch::kFloat32);
    case Init::Kind::kUniform:
      return at::empty(shape, torch::kFloat32).uniform_(-init.value, init.value, device::make_generator(seed));
    case Init::Kind::kNormal:
      return at::empty(shape, torch::kFloat32).normal_(0, init.value, device::make_generator(seed));
  }
  ESPER_CHECK(false, "an Init of unknown kind");
  return {};
}

torch::Tensor find(const std::vector<NamedTensor>& tensors, std::string_view id) {
  const auto found = std::ranges::find(tensors, id, &NamedTensor::id);
  return found == tensors.end() ? torch::Tensor() : found->tensor;
}

}  // namespace

std::uint64_t bytes_of(const std::vector<NamedTensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const auto& [id, tensor] : tensors) bytes += tensor.nbytes();
  return bytes;
}

std::int64_t TensorTable::num_parameters() const {
  std::int64_t count = 0;
  for (const auto& parameter : parameters) count += parameter.tensor.numel();
  return count;
}

torch::Tensor find_parameter(const TensorTable& table, std::string_view id) { return find(table.parameters, id); }

torch::Tensor find_buffer(const TensorTable& table, std::string_view id) { return find(table.buffers, id); }

torch::Tensor leading_part(torch::Tensor source, const torch::Tensor& like) {
  for (std::int64_t i = 0; i < like.dim(); ++i) source = source.narrow(i, 0, like.size(i));
  return source;
}

void write_values(const TensorValues& values) {
  const at::NoGradGuard no_grad;
  for (const auto& [tensor, value] : values) tensor.copy_(value);
}

ModuleScope::ModuleScope(TensorTable& table, std::string prefix, std::uint64_t run_seed, torch::Device device)
    : table_(table), prefix_(std::move(prefix)), run_seed_(run_seed), device_(device) {}

ModuleScope ModuleScope::child(const std::string& name) const {
  return ModuleScope(table_, prefix_ + "." + name, run_seed_, device_);
}

std::string ModuleScope::new_id(const std::string& name) const {
  std::string id = prefix_ + "." + name;
  ESPER_CHECK(!holds(table_.parameters, id) && !holds(table_.buffers, id), "two tensors are called " + id);
  return id;
}

torch::Tensor ModuleScope::parameter(const std::string& name, torch::IntArrayRef shape, Init init) {
  const std::string id = new_id(name);
  torch::Tensor tensor = draw(shape, init, device::derive_seed(run_seed_, id)).to(device_).requires_grad_();
  table_.parameters.push_back({id, tensor});
  return tensor;
}

torch::Tensor ModuleScope::parameter(const std::string& name, const torch::Tensor& value) {
  table_.parameters.push_back({new_id(name), value.detach().clone().to(device_).requires_grad_()});
  return table_.parameters.back().tensor;
}

torch::Tensor ModuleScope::buffer(const std::string& name, const torch::Tensor& value) {
  // clone: the caller's tensor must not change with the buffer.
  table_.buffers.push_back({new_id(name), value.clone().to(device_)});
  return table_.buffers.back().tensor;
}

}  // namespace esper::kasmina
