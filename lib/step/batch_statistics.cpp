#include "step/batch_statistics.h"

#include <map>
#include <string>

#include "base/error.h"
#include "device/asynchronous_error.h"
#include "device/precision.h"
#include "kasmina/network/network_forward.h"
#include "kasmina/tensor/layers.h"

namespace esper::step {

double statistic_momentum(const kasmina::Network& network, const std::string& id) {
  const kasmina::Host& host = network.state().host;
  if (!id.starts_with("host.") || !host.norm_momenta) {
    const bool is_statistic = id.ends_with(".running_mean") || id.ends_with(".running_var");
    return is_statistic ? kasmina::kBatchNormMomentum : 0;
  }
  const auto found = host.norm_momenta->find(id);
  return found == host.norm_momenta->end() ? 0 : found->second;
}

std::vector<kasmina::NamedTensor> running_statistics(const kasmina::Network& network) {
  auto found = network.buffers();
  std::erase_if(found, [&](const auto& buffer) {
    return statistic_momentum(network, buffer.id) == 0 && !buffer.id.ends_with(".num_batches_tracked");
  });
  return found;
}

BatchStatistics::BatchStatistics(const kasmina::Network& network) : network_(network) {
  for (const auto& [id, tensor] : network.buffers()) {
    const double momentum = statistic_momentum(network, id);
    if (momentum != 0) statistics_.push_back({id, tensor, momentum});
  }
}

BatchStatistics::~BatchStatistics() {
  const at::NoGradGuard no_grad;
  device::put_back([&] { kasmina::write_values(kept_); });
}

void BatchStatistics::recompute(const NextInputs& next_inputs, torch::ScalarType compute_type) {
  const at::NoGradGuard no_grad;
  keep();
  std::vector<torch::Tensor> sums;
  for (const auto& statistic : statistics_) sums.push_back(at::zeros_like(statistic.tensor, torch::kFloat64));
  std::int64_t batches = 0;
  for (auto inputs = next_inputs(); inputs; inputs = next_inputs(), ++batches) {
    // From zero, a forward leaves the batch's own statistics times the momentum.
    for (const auto& statistic : statistics_) statistic.tensor.zero_();
    const device::AutocastScope autocast(inputs->device().type(), compute_type);
    kasmina::forward_with_shadows(network_.state(), *inputs);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(statistics_[i].tensor);
  }
  if (batches == 0) return;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto& [id, tensor, momentum] = statistics_[i];
    tensor.copy_(sums[i].div_(momentum * static_cast<double>(batches)));
  }
}

std::vector<kasmina::NamedTensor> BatchStatistics::copies() const {
  std::vector<kasmina::NamedTensor> copies;
  for (const auto& statistic : statistics_) {
    copies.push_back({statistic.id, statistic.tensor.detach().to(torch::kCPU, false, true)});
  }
  return copies;
}

base::Expected<void> BatchStatistics::put(const std::vector<kasmina::NamedTensor>& copies) {
  const at::NoGradGuard no_grad;
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [id, tensor] : copies) saved.emplace(id, tensor);
  for (const auto& statistic : statistics_) {
    const auto found = saved.find(statistic.id);
    if (found == saved.end()) return base::failure("statistic " + statistic.id + " is missing");
    if (found->second.sizes() != statistic.tensor.sizes()) {
      return base::failure("statistic " + statistic.id + " has another shape");
    }
  }
  keep();
  for (const auto& statistic : statistics_) statistic.tensor.copy_(saved.at(statistic.id));
  return {};
}

void BatchStatistics::keep() {
  ESPER_CHECK(kept_.empty(), "statistics are replaced once");
  for (const auto& [id, tensor] : network_.buffers()) kept_.emplace_back(tensor, tensor.clone());
}

}  // namespace esper::step
