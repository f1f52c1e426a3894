#include "tolaria/run/state_copy.h"

#include <torch/types.h>

#include <algorithm>
#include <iterator>

#include "tolaria/checkpoint/checkpoint.h"

namespace esper::tolaria {
namespace {

using kasmina::NamedTensor;

std::vector<torch::Tensor> copies_on_host(const std::vector<torch::Tensor>& tensors) { return copy_to_cpu(tensors); }

}  // namespace

StateCopy::StateCopy(const step::Model& model, torch::Device device)
    : model_(model), snapshot_(model, device, copies_on_host), scalars_(copy_to_cpu(model.network.scalars())) {}

std::vector<NamedTensor> StateCopy::tensors() const {
  auto tensors = step::model_tensors(model_);
  for (auto& [id, tensor] : tensors) {
    const auto scalar = std::ranges::find(scalars_, id, &NamedTensor::id);
    tensor = scalar != scalars_.end() ? scalar->tensor : snapshot_.saved(tensor);
  }
  std::ranges::move(step::rng_tensors(snapshot_.rng()), std::back_inserter(tensors));
  return tensors;
}

}  // namespace esper::tolaria
