#include "step/seed_sums.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace esper::step {
namespace {

// Rows of `from` whose names are in `to` go to their new places.
torch::Tensor carried(const torch::Tensor& from, const std::vector<std::string>& old_names,
                      const std::vector<std::string>& names, torch::Tensor zeros) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto known = std::find(old_names.begin(), old_names.end(), names[i]);
    if (known == old_names.end()) continue;
    zeros[static_cast<std::int64_t>(i)].copy_(from[known - old_names.begin()]);
  }
  return zeros;
}

bool belongs_to(const std::string& parameter_id, const std::string& seed_id) {
  return parameter_id.starts_with(seed_id + ".");
}

std::string layer_of(const std::string& parameter_id) { return parameter_id.substr(0, parameter_id.rfind('.')); }

}  // namespace

void sync_seed_sums(SeedSums& sums, const std::vector<std::string>& seed_ids,
                    const std::vector<std::string>& parameter_ids, torch::Device device) {
  if (sums.figures.defined() && sums.seed_ids == seed_ids && sums.parameter_ids == parameter_ids) return;
  const auto real = torch::dtype(torch::kFloat64).device(device);
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  sums.figures = carried(sums.figures, sums.seed_ids, seed_ids, at::zeros({count(seed_ids), kNumSeedFigures}, real));
  sums.layer_squares =
      carried(sums.layer_squares, sums.parameter_ids, parameter_ids, at::zeros({count(parameter_ids)}, real));
  sums.seed_ids = seed_ids;
  sums.parameter_ids = parameter_ids;
}

void append_named(const SeedSums& sums, std::vector<kasmina::NamedTensor>& out) {
  if (sums.figures.numel() > 0) out.push_back({"metrics.seed_figures", sums.figures});
  if (sums.layer_squares.numel() > 0) out.push_back({"metrics.seed_layers", sums.layer_squares});
}

std::vector<std::pair<std::string, SeedMetrics>> read_seed_sums(const SeedSums& sums, const double* read) {
  std::vector<std::pair<std::string, SeedMetrics>> all;
  const double* squares = read + sums.figures.numel();
  for (const std::string& id : sums.seed_ids) {
    const double steps = std::max(1.0, read[kSeedSteps]);
    SeedMetrics metrics;
    if (read[kSeedSteps] > 0) metrics.weight = read[kSeedWeight] / steps;
    metrics.teacher_share = read[kSeedTeacherShare] / steps;
    metrics.conflicts = read[kSeedConflicts];
    metrics.comparisons = read[kSeedComparisons];
    metrics.isolation_dot = read[kIsolationDot] / steps;
    metrics.isolation_host_norm = read[kIsolationHostNorm] / steps;
    metrics.isolation_seed_norm = read[kIsolationSeedNorm] / steps;
    metrics.isolation_violations = read[kIsolationViolations];
    std::map<std::string, double> layers;
    for (std::size_t i = 0; i < sums.parameter_ids.size(); ++i) {
      if (belongs_to(sums.parameter_ids[i], id)) layers[layer_of(sums.parameter_ids[i])] += squares[i] / steps;
    }
    for (const auto& [layer, square] : layers) metrics.layers.emplace_back(layer, std::sqrt(square));
    std::ranges::stable_sort(metrics.layers, std::ranges::greater(), [](auto& layer) { return layer.second; });
    all.emplace_back(id, std::move(metrics));
    read += kNumSeedFigures;
  }
  return all;
}

}  // namespace esper::step
