#include "step/batch_statistics.h"

#include <map>
#include <string>

#include "base/error.h"
#include "device/precision.h"
#include "kasmina/tensor/layers.h"

namespace esper::step {

BatchStatistics::BatchStatistics(const kasmina::Network& network) : network_(network) {
  for (const auto& [id, tensor] : network.buffers()) {
    if (id.ends_with(".running_mean") || id.ends_with(".running_var")) statistics_.push_back({id, tensor});
  }
}

BatchStatistics::~BatchStatistics() {
  const at::NoGradGuard no_grad;
  kasmina::write_values(kept_);
}

void BatchStatistics::recompute(const NextInputs& next_inputs, torch::ScalarType compute_type) {
  const at::NoGradGuard no_grad;
  keep();
  std::vector<torch::Tensor> sums;
  for (const auto& [id, statistic] : statistics_) sums.push_back(at::zeros_like(statistic, torch::kFloat64));
  std::int64_t batches = 0;
  for (auto inputs = next_inputs(); inputs; inputs = next_inputs(), ++batches) {
    // From zero, a forward leaves the batch's own statistics times the momentum.
    for (const auto& [id, statistic] : statistics_) statistic.zero_();
    const device::AutocastScope autocast(inputs->device().type(), compute_type);
    network_.forward(*inputs, kasmina::Mode::kTrain);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(statistics_[i].tensor);
  }
  if (batches == 0) return;
  const double weight = kasmina::kBatchNormMomentum * static_cast<double>(batches);
  for (std::size_t i = 0; i < sums.size(); ++i) statistics_[i].tensor.copy_(sums[i].div_(weight));
}

std::vector<kasmina::NamedTensor> BatchStatistics::copies() const {
  std::vector<kasmina::NamedTensor> copies;
  for (const auto& [id, tensor] : statistics_) copies.push_back({id, tensor.detach().to(torch::kCPU, false, true)});
  return copies;
}

base::Expected<void> BatchStatistics::put(const std::vector<kasmina::NamedTensor>& copies) {
  const at::NoGradGuard no_grad;
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [id, tensor] : copies) saved.emplace(id, tensor);
  for (const auto& [id, tensor] : statistics_) {
    const auto found = saved.find(id);
    if (found == saved.end()) return base::failure("statistic " + id + " is missing");
    if (found->second.sizes() != tensor.sizes()) return base::failure("statistic " + id + " has another shape");
  }
  keep();
  for (const auto& [id, tensor] : statistics_) tensor.copy_(saved.at(id));
  return {};
}

void BatchStatistics::keep() {
  ESPER_CHECK(kept_.empty(), "statistics are replaced once");
  for (const auto& [id, tensor] : network_.buffers()) kept_.emplace_back(tensor, tensor.clone());
}

}  // namespace esper::step
