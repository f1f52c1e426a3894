#include "tolaria/step_metrics.h"

#include <algorithm>

#include "tolaria/step_state.h"

namespace esper::tolaria {
namespace {

std::vector<torch::Tensor> scalars(const MetricSums& sums) {
  return {sums.loss_sum,     sums.correct,       sums.samples,          sums.steps,
          sums.finite_steps, sums.clipped_steps, sums.gradient_norm_sum};
}

// All sums and the loss scale in one float64 tensor on the host. Counts stay exact below 2^53.
torch::Tensor gather(const StepState& state) {
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& sum : scalars(state.metrics)) parts.push_back(sum.to(torch::kFloat64).reshape({1}));
  const LossScale& scale = state.loss_scale;
  parts.push_back(scale.enabled() ? scale.scale.to(torch::kFloat64).reshape({1}) : at::ones_like(parts.front()));
  parts.push_back(state.metrics.group_norm_sum);
  return at::cat(parts).cpu();
}

double ratio(double sum, double count) { return count > 0 ? sum / count : 0; }

}  // namespace

MetricSums make_metric_sums(torch::Device device) {
  const auto real = torch::dtype(torch::kFloat64).device(device);
  const auto count = torch::dtype(torch::kInt64).device(device);
  MetricSums sums;
  sums.loss_sum = at::zeros({}, real);
  sums.correct = at::zeros({}, count);
  sums.samples = at::zeros({}, count);
  sums.steps = at::zeros({}, count);
  sums.finite_steps = at::zeros({}, count);
  sums.clipped_steps = at::zeros({}, count);
  sums.gradient_norm_sum = at::zeros({}, real);
  sums.group_norm_sum = at::zeros({0}, real);
  return sums;
}

void sync_group_sums(MetricSums& sums, const std::vector<std::string>& group_ids) {
  if (sums.group_ids == group_ids) return;
  if (sums.group_ids.size() == 1) sums.group_norm_sum[0].copy_(sums.gradient_norm_sum);
  torch::Tensor synced = at::zeros({static_cast<std::int64_t>(group_ids.size())}, sums.group_norm_sum.options());
  for (std::size_t i = 0; i < group_ids.size() && group_ids.size() > 1; ++i) {
    const auto known = std::find(sums.group_ids.begin(), sums.group_ids.end(), group_ids[i]);
    if (known == sums.group_ids.end()) continue;
    synced[static_cast<std::int64_t>(i)].copy_(sums.group_norm_sum[known - sums.group_ids.begin()]);
  }
  sums.group_norm_sum = synced;
  sums.group_ids = group_ids;
}

void append_named(const MetricSums& sums, std::vector<kasmina::NamedTensor>& out) {
  out.push_back({"metrics.loss_sum", sums.loss_sum});
  out.push_back({"metrics.correct", sums.correct});
  out.push_back({"metrics.samples", sums.samples});
  out.push_back({"metrics.steps", sums.steps});
  out.push_back({"metrics.finite_steps", sums.finite_steps});
  out.push_back({"metrics.clipped_steps", sums.clipped_steps});
  out.push_back({"metrics.gradient_norm_sum", sums.gradient_norm_sum});
  out.push_back({"metrics.group_norm_sum", sums.group_norm_sum});
}

StepMetrics read_metrics(StepState& state) {
  at::NoGradGuard no_grad;
  const torch::Tensor read = gather(state);
  const double* values = read.const_data_ptr<double>();
  const double samples = values[2], steps = values[3], finite = values[4];
  StepMetrics metrics;
  metrics.loss = ratio(values[0], samples);
  metrics.accuracy = ratio(values[1], samples);
  metrics.samples = static_cast<std::int64_t>(samples);
  metrics.steps = static_cast<std::int64_t>(steps);
  metrics.clipped_steps = static_cast<std::int64_t>(values[5]);
  metrics.nonfinite_steps = static_cast<std::int64_t>(steps - finite);
  metrics.gradient_norm = ratio(values[6], finite);
  metrics.loss_scale = values[7];
  const std::vector<std::string>& ids = state.metrics.group_ids;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    metrics.group_gradient_norms[ids[i]] = ids.size() == 1 ? metrics.gradient_norm : ratio(values[8 + i], finite);
  }
  for (torch::Tensor sum : scalars(state.metrics)) sum.zero_();
  state.metrics.group_norm_sum.zero_();
  return metrics;
}

}  // namespace esper::tolaria
