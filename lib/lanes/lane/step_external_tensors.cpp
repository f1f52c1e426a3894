#include "lanes/lane/step_external_tensors.h"

#include <fmt/core.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "lanes/lane/seed_aliases.h"
#include "step/batch_statistics.h"
#include "step/step_tensors.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;
using step::named_tensors;
using step::step_tensors;
using step::StepTensor;

namespace {

using program::ExternalTensor;
using program::Tracked;

std::vector<torch::Tensor> changeable_tensors(const Model& model) {
  std::vector<torch::Tensor> tensors;
  for (const StepTensor& part : step_tensors(model.state)) {
    if (part.role == StepTensor::Role::kState) tensors.push_back(part.tensor);
  }
  for (const auto& buffer : model.network.buffers()) tensors.push_back(buffer.tensor);
  return tensors;
}

std::vector<torch::Tensor> copies_beside(const std::vector<torch::Tensor>& tensors) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> copies;
  copies.reserve(tensors.size());
  for (const torch::Tensor& tensor : tensors) {
    copies.push_back(tensor.detach().to(tensor.options(), /*non_blocking=*/false, /*copy=*/true));
  }
  return copies;
}

// What a group's gradient changes, by the id of a tensor: parameters and what follows them, each kind by itself.
std::unordered_map<std::string, Tracked> tracked_by_id(const step::StepState& state,
                                                       const config::OptimizerConfig& optimizer) {
  const std::pair<std::string, double> moments[] = {{"optimizer.momentum_buffer.", optimizer.momentum},
                                                    {"optimizer.exp_avg.", optimizer.beta1},
                                                    {"optimizer.exp_avg_sq.", optimizer.beta2}};
  std::unordered_map<std::string, Tracked> known;
  for (const step::GroupState& group : state.groups) {
    for (std::size_t i = 0; i < group.parameter_ids.size(); ++i) {
      const std::string& id = group.parameter_ids[i];
      const torch::Tensor squares = view_of(group.second_moments, i);
      for (const std::string kind : {"", "ema."}) known[kind + id] = {{}, {}, kind + "parameters " + group.id, squares};
      for (const auto& [kind, decay] : moments) known[kind + id] = {{}, {}, kind + " " + group.id, {}, decay};
    }
  }
  return known;
}

}  // namespace

std::vector<ExternalTensor> step_external_tensors(const Model& model, std::span<const Microbatch> microbatches) {
  const SeedAliases aliases(model);
  std::vector<ExternalTensor> external_tensors;
  for (const StepTensor& part : step_tensors(model.state)) {
    const bool scratch = part.role == StepTensor::Role::kScratch;
    external_tensors.push_back({aliases.rename(part.name), part.tensor,
                                scratch ? ExternalTensor::Role::kScratch : ExternalTensor::Role::kInput});
  }
  for (const auto& [id, tensor] : model.network.buffers()) external_tensors.push_back({aliases.rename(id), tensor});
  for (const auto& [id, tensor] : model.network.scalars()) external_tensors.push_back({aliases.rename(id), tensor});
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    const std::string prefix = fmt::format("batch.{}", i);
    external_tensors.push_back({prefix + ".inputs", microbatches[i].inputs});
    external_tensors.push_back({prefix + ".targets", microbatches[i].targets});
  }
  return external_tensors;
}

std::vector<Tracked> tracked_tensors(const Model& model) {
  auto of_gradients = tracked_by_id(model.state, model.settings.optimizer);
  std::vector<Tracked> tracked;
  for (const auto& [id, tensor] : named_tensors(model.state)) {
    Tracked item = std::move(of_gradients[id]);
    item.name = id;
    item.tensor = tensor;
    tracked.push_back(std::move(item));
  }
  for (const auto& [id, tensor] : model.network.buffers()) {
    tracked.push_back({id, tensor, {}, {}, 1 - step::statistic_momentum(model.network, id)});
  }
  return tracked;
}

StepSnapshot::StepSnapshot(const Model& model, torch::Device device) : StepSnapshot(model, device, copies_beside) {}

StepSnapshot::StepSnapshot(const Model& model, torch::Device device, const CopyTensors& copy)
    : device_(device), tensors_(changeable_tensors(model)), saved_(copy(tensors_)), rng_(device::rng_state(device)) {}

std::int64_t StepSnapshot::bytes() const {
  std::int64_t total = 0;
  for (const torch::Tensor& tensor : saved_) total += static_cast<std::int64_t>(tensor.nbytes());
  return total;
}

torch::Tensor StepSnapshot::saved(const torch::Tensor& tensor) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const torch::Tensor& whole = tensors_[i];
    if (whole.is_same(tensor)) return saved_[i];
    if (!whole.is_alias_of(tensor) || !whole.is_contiguous()) continue;
    const std::int64_t offset = tensor.storage_offset() - whole.storage_offset();
    if (offset < 0 || offset + tensor.numel() > whole.numel()) continue;
    return saved_[i].as_strided(tensor.sizes(), tensor.strides(), saved_[i].storage_offset() + offset);
  }
  ESPER_CHECK(false, "the tensor is not part of the snapshot");
}

void StepSnapshot::restore() const {
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].detach().copy_(saved_[i]);
  device::set_rng_state(device_, rng_);
}

}  // namespace esper::lanes
