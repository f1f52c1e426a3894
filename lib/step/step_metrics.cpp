#include "step/step_metrics.h"

#include <algorithm>
#include <limits>

#include "step/step_state.h"

namespace esper::step {
namespace {

torch::Tensor as_figure(const torch::Tensor& scalar) { return scalar.to(torch::kFloat64).reshape({1}); }

// All sums and the loss scales in one float64 tensor on the host. Counts stay exact below 2^53.
torch::Tensor gather(const StepState& state) {
  const MetricSums& sums = state.metrics;
  const torch::Tensor scale = state.loss_scale.enabled() ? state.loss_scale.scale : at::ones({}, sums.sums.options());
  std::vector<torch::Tensor> parts{
      sums.sums,           sums.counts.to(torch::kFloat64),   as_figure(sums.correct),      as_figure(scale),
      sums.group_norm_sum, state.seed_sums.figures.flatten(), state.seed_sums.layer_squares};
  for (const GroupState& group : state.groups) {
    if (group.loss_scale.enabled()) parts.push_back(as_figure(group.loss_scale.scale));
  }
  return at::cat(parts).cpu();
}

// read: the groups' scales, as gather() has them.
std::map<std::string, double> seed_loss_scales(const StepState& state, const double* read) {
  std::map<std::string, double> scales;
  for (const GroupState& group : state.groups) {
    if (group.loss_scale.enabled()) scales[group.id] = *read++;
  }
  return scales;
}

double ratio(double sum, double count) { return count > 0 ? sum / count : 0; }

}  // namespace

MetricSums make_metric_sums(torch::Device device) {
  const auto real = torch::dtype(torch::kFloat64).device(device);
  const auto count = torch::dtype(torch::kInt64).device(device);
  return {at::zeros({kNumFigures}, real), at::zeros({2}, count), at::zeros({}, count), at::zeros({0}, real), {}};
}

StepFigures make_step_figures(torch::Device device) {
  const auto options = torch::dtype(torch::kFloat32).device(device);
  StepFigures figures;
  figures.row = at::zeros({kNumFigures}, options);
  for (std::int64_t i = 0; i < kNumFigures; ++i) figures.figure[static_cast<std::size_t>(i)] = figures.row[i];
  figures.wide_row = at::zeros({kNumFigures}, options.dtype(torch::kFloat64));
  figures.part = at::zeros({}, options);
  figures.total_weight = at::zeros({}, options);
  figures.correct = at::zeros({}, options.dtype(torch::kInt64));
  figures.norm = at::zeros({}, options);
  figures.infinity = at::full({}, std::numeric_limits<float>::infinity(), options);
  return figures;
}

void sync_group_sums(MetricSums& sums, const std::vector<std::string>& group_ids) {
  if (sums.group_ids == group_ids) return;
  if (sums.group_ids.size() == 1) sums.group_norm_sum[0].copy_(sums.sums[kGradientNorm]);
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
  out.push_back({"metrics.sums", sums.sums});
  out.push_back({"metrics.counts", sums.counts});
  out.push_back({"metrics.correct", sums.correct});
  out.push_back({"metrics.group_norm_sum", sums.group_norm_sum});
}

std::optional<std::int64_t> count_in(double sum, std::int64_t steps) {
  if (!(sum >= 0 && sum <= static_cast<double>(steps))) return std::nullopt;
  return static_cast<std::int64_t>(sum);
}

StepMetrics metrics_so_far(const StepState& state) {
  at::NoGradGuard no_grad;
  const torch::Tensor read = gather(state);
  const double* sums = read.const_data_ptr<double>();
  const double steps = sums[kNumFigures], samples = sums[kNumFigures + 1];
  StepMetrics metrics;
  metrics.steps = static_cast<std::int64_t>(steps);
  const std::int64_t finite_steps = count_in(sums[kFinite], metrics.steps).value_or(0);
  const auto finite = static_cast<double>(finite_steps);
  metrics.loss = steps > 0 && samples == 0 ? std::numeric_limits<double>::quiet_NaN() : ratio(sums[kLoss], samples);
  metrics.accuracy = ratio(sums[kNumFigures + 2], samples);
  metrics.samples = static_cast<std::int64_t>(samples);
  metrics.clipped_steps = count_in(sums[kClipped], metrics.steps).value_or(0);
  metrics.nonfinite_steps = metrics.steps - finite_steps;
  metrics.gradient_norm = ratio(sums[kGradientNorm], finite);
  metrics.loss_scale = sums[kNumFigures + 3];
  const double* group_sums = sums + kNumFigures + 4;
  const std::vector<std::string>& ids = state.metrics.group_ids;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    metrics.group_gradient_norms[ids[i]] = ids.size() == 1 ? metrics.gradient_norm : ratio(group_sums[i], finite);
  }
  const double* seed_sums = group_sums + ids.size();
  metrics.seeds = read_seed_sums(state.seed_sums, seed_sums);
  metrics.seed_loss_scales =
      seed_loss_scales(state, seed_sums + state.seed_sums.figures.numel() + state.seed_sums.layer_squares.numel());
  return metrics;
}

StepMetrics read_metrics(StepState& state) {
  at::NoGradGuard no_grad;
  StepMetrics metrics = metrics_so_far(state);
  state.seed_sums.figures.zero_();
  state.seed_sums.layer_squares.zero_();
  state.metrics.sums.zero_();
  state.metrics.counts.zero_();
  state.metrics.correct.zero_();
  state.metrics.group_norm_sum.zero_();
  return metrics;
}

}  // namespace esper::step
