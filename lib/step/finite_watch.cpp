#include "step/finite_watch.h"

#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace esper::step {

namespace {

torch::Tensor on_host(const torch::Tensor& tensor) { return tensor.is_cpu() ? tensor : tensor.cpu(); }

}  // namespace

FiniteWatch::Look FiniteWatch::look_at(const MetricSums& metrics) {
  const torch::Tensor counts = on_host(metrics.counts), sums = on_host(metrics.sums);
  const auto* figures = sums.const_data_ptr<double>();
  const auto steps = *counts.const_data_ptr<std::int64_t>();
  const auto finite_steps = count_in(figures[kFinite], steps);
  return {steps - finite_steps.value_or(0), finite_steps && std::isfinite(figures[kLoss])};
}

void FiniteWatch::begin(const StepState& state, Overflow overflow) {
  overflow_ = overflow;
  seen_ = look_at(state.metrics).bad_steps;
}

bool FiniteWatch::is_scale_at_its_end(const StepState& state) {
  constexpr double kLeastShare = 1.0 / 256;
  const LossScale& loss_scale = state.loss_scale;
  return loss_scale.enabled() &&
         loss_scale.scale.item<float>() <= kLeastShare * std::min(1.0, loss_scale.config.init_scale);
}

namespace {

bool is_finite(const torch::Tensor& tensor) {
  return !tensor.is_floating_point() || at::isfinite(tensor).all().item<bool>();
}

}  // namespace

std::string first_not_finite(std::span<const kasmina::NamedTensor> tensors, std::span<const Microbatch> microbatches) {
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    if (!is_finite(microbatches[i].inputs)) return fmt::format("batch.{}.inputs", i);
    if (!is_finite(microbatches[i].targets)) return fmt::format("batch.{}.targets", i);
  }
  const auto is_bad = [](const auto& named) { return !named.id.starts_with("metrics.") && !is_finite(named.tensor); };
  const auto found = std::ranges::find_if(tensors, is_bad);
  return found == tensors.end() ? "" : found->id;
}

}  // namespace esper::step
