#include "step/finite_watch.h"

#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace esper::step {

void FiniteWatch::begin(const StepState& state) {
  is_on_ = state.device.is_cpu();
  scales_ = state.loss_scale.enabled();
  if (is_on_) seen_ = bad_steps(state);
}

bool FiniteWatch::is_trouble(const StepState& state, std::span<const Microbatch> microbatches) {
  if (!scales_) return true;
  seen_ = bad_steps(state);
  return is_scale_at_its_end(state) || !first_not_finite(state, microbatches).empty();
}

bool FiniteWatch::is_scale_at_its_end(const StepState& state) {
  return state.loss_scale.enabled() && *state.loss_scale.scale.const_data_ptr<float>() <= kLeastScale;
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

std::string first_not_finite(const StepState& state, std::span<const Microbatch> microbatches) {
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    if (!is_finite(microbatches[i].inputs)) return fmt::format("batch.{}.inputs", i);
    if (!is_finite(microbatches[i].targets)) return fmt::format("batch.{}.targets", i);
  }
  for (const auto& [id, tensor] : named_tensors(state)) {
    if (!id.starts_with("metrics.") && !is_finite(tensor)) return id;
  }
  return {};
}

}  // namespace esper::step
