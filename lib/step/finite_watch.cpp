#include "step/finite_watch.h"

#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace esper::step {

void FiniteWatch::begin(const StepState& state, Overflow overflow) {
  is_on_ = state.device.is_cpu();
  overflow_ = overflow;
  if (is_on_) seen_ = bad_steps(state);
}

bool FiniteWatch::is_scale_at_its_end(const StepState& state) {
  constexpr double kLeastShare = 1.0 / 256;
  const LossScale& loss_scale = state.loss_scale;
  return loss_scale.enabled() &&
         *loss_scale.scale.const_data_ptr<float>() <= kLeastShare * std::min(1.0, loss_scale.config.init_scale);
}

std::int64_t FiniteWatch::bad_steps(const StepState& state) {
  const auto steps = *state.metrics.counts.const_data_ptr<std::int64_t>();
  return steps - static_cast<std::int64_t>(state.metrics.sums.const_data_ptr<double>()[kFinite]);
}

bool FiniteWatch::has_finite_loss(const StepState& state) {
  return std::isfinite(state.metrics.sums.const_data_ptr<double>()[kLoss]);
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
