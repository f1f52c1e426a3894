#include "kasmina/tensor_table.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <utility>

#include "leyline/error.h"

namespace esper::kasmina {
namespace {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

bool holds(const std::vector<NamedTensor>& tensors, const std::string& id) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const NamedTensor& named) { return named.id == id; });
}

torch::Tensor draw(torch::IntArrayRef shape, Init init, std::uint64_t seed) {
  switch (init.kind) {
    case Init::Kind::kConstant:
      return at::full(shape, init.value, torch::kFloat32);
    case Init::Kind::kUniform:
      return at::empty(shape, torch::kFloat32).uniform_(-init.value, init.value, at::detail::createCPUGenerator(seed));
    case Init::Kind::kNormal:
      return at::empty(shape, torch::kFloat32).normal_(0, init.value, at::detail::createCPUGenerator(seed));
  }
  ESPER_CHECK(false, "an Init of unknown kind");
  return {};
}

}  // namespace

std::int64_t TensorTable::num_parameters() const {
  std::int64_t count = 0;
  for (const auto& parameter : parameters) count += parameter.tensor.numel();
  return count;
}

std::uint64_t parameter_seed(std::uint64_t run_seed, std::string_view id) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return splitmix64(splitmix64(run_seed) ^ hash);
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
  torch::Tensor tensor = draw(shape, init, parameter_seed(run_seed_, id)).to(device_).requires_grad_();
  table_.parameters.push_back({id, tensor});
  return tensor;
}

torch::Tensor ModuleScope::buffer(const std::string& name, const torch::Tensor& value) {
  // clone: the caller's tensor must not change with the buffer.
  table_.buffers.push_back({new_id(name), value.clone().to(device_)});
  return table_.buffers.back().tensor;
}

}  // namespace esper::kasmina
