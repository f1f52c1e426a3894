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

std::vector<std::string> ids_of(const std::vector<SeedParameter>& parameters) {
  std::vector<std::string> ids;
  for (const SeedParameter& parameter : parameters) ids.push_back(parameter.id);
  return ids;
}

}  // namespace

void sync_seed_sums(SeedSums& sums, const std::vector<std::string>& seed_ids,
                    const std::vector<SeedParameter>& parameters, torch::Device device) {
  if (sums.figures.defined() && sums.seed_ids == seed_ids && sums.parameters == parameters) return;
  const auto real = torch::dtype(torch::kFloat64).device(device);
  const auto count = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  sums.figures = carried(sums.figures, sums.seed_ids, seed_ids, at::zeros({count(seed_ids), kNumSeedFigures}, real));
  sums.layer_squares =
      carried(sums.layer_squares, ids_of(sums.parameters), ids_of(parameters), at::zeros({count(parameters)}, real));
  sums.seed_ids = seed_ids;
  sums.parameters = parameters;
}

void append_named(const SeedSums& sums, std::vector<kasmina::NamedTensor>& out) {
  if (sums.figures.numel() > 0) out.push_back({"metrics.seed_figures", sums.figures});
  if (sums.layer_squares.numel() > 0) out.push_back({"metrics.seed_layers", sums.layer_squares});
}

std::vector<std::pair<std::string, SeedMetrics>> read_seed_sums(const SeedSums& sums, const double* read) {
  std::vector<std::pair<std::string, SeedMetrics>> all;
  const double* squares = read + sums.figures.numel();
  for (std::size_t seed = 0; seed < sums.seed_ids.size(); ++seed) {
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
    for (std::size_t i = 0; i < sums.parameters.size(); ++i) {
      const SeedParameter& parameter = sums.parameters[i];
      if (parameter.seed == seed) layers[parameter.layer] += squares[i] / steps;
    }
    for (const auto& [layer, square] : layers) metrics.layers.emplace_back(layer, std::sqrt(square));
    std::ranges::stable_sort(metrics.layers, std::ranges::greater(), [](auto& layer) { return layer.second; });
    all.emplace_back(sums.seed_ids[seed], std::move(metrics));
    read += kNumSeedFigures;
  }
  return all;
}

}  // namespace esper::step
