#include "tolaria/report/seed_report.h"

#include <algorithm>

#include "base/names.h"
#include "kasmina/network/network_tensors.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using step::SeedMetrics;
using step::StepMetrics;

namespace {

using leyline::event;
using leyline::Level;
using leyline::metric;
using leyline::MetricValue;
using leyline::SeedState;
using namespace leyline::literals;

using Metrics = std::vector<MetricValue>;

struct ParameterCount {
  double host = 0, all = 0;
};

ParameterCount count_host_and_all(const kasmina::Network& network) {
  ParameterCount count{0, static_cast<double>(kasmina::num_parameters_of(network.state()))};
  for (const auto& group : network.parameter_groups()) {
    double elements = 0;
    for (const auto& parameter : group.parameters) elements += static_cast<double>(parameter.tensor.numel());
    if (group.owner == kasmina::kHostOwner) count.host += elements;
  }
  return count;
}

const SeedMetrics* find(const StepMetrics& metrics, const std::string& seed_id) {
  const auto found = std::ranges::find(metrics.seeds, seed_id, [](auto& seed) { return seed.first; });
  return found == metrics.seeds.end() ? nullptr : &found->second;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double norm_of(const StepMetrics& metrics, const std::string& group) {
  const auto found = metrics.group_gradient_norms.find(group);
  return found == metrics.group_gradient_norms.end() ? 0 : found->second;
}

void add_host_share(Metrics& out, const StepMetrics& metrics, const ParameterCount& count) {
  const auto add = [&](auto handle, double value) {
    out.push_back(metric(handle, value, {{"seed_id", "__teacher__"}, {"stage", "TEACHER"}}));
  };
  add("tolaria.grad_agg.seed.weight"_metric, 1);
  add("tolaria.grad_agg.seed.norm"_metric, norm_of(metrics, kasmina::kHostOwner));
  add("tolaria.grad_agg.seed.params"_metric, count.host);
  add("tolaria.grad_agg.seed.mask_fraction"_metric, ratio(count.host, count.all));
}

void add_seed(Metrics& out, const GradientView& gradients, const StepMetrics& metrics, const SeedState& seed,
              const ParameterCount& count) {
  const std::string stage(base::name_of(seed.stage));
  const auto add = [&](auto handle, double value) {
    out.push_back(metric(handle, value, {{"seed_id", seed.seed_id}, {"stage", stage}}));
  };
  add("tolaria.grad_agg.seed.norm"_metric, norm_of(metrics, seed.seed_id));
  add("tolaria.grad_agg.seed.alpha"_metric, seed.figures.alpha);
  add("tolaria.grad_agg.seed.params"_metric, seed.figures.params);
  add("tolaria.grad_agg.seed.mask_fraction"_metric, ratio(seed.figures.params, count.all));
  if (const auto share = gradients.shares.find(seed.seed_id); share != gradients.shares.end()) {
    add("tolaria.grad_agg.seed.share"_metric, share->second.share);
    add("tolaria.grad_agg.seed.share_delta"_metric, share->second.delta);
  }
  const SeedMetrics* own = find(metrics, seed.seed_id);
  if (own == nullptr) return;
  add("tolaria.grad_agg.seed.weight"_metric, own->weight);
  add("tolaria.grad_agg.seed.teacher_share"_metric, own->teacher_share);
  if (own->comparisons > 0) {  // false: one seed, no surgery, or one microbatch per step
    add("tolaria.grad_agg.seed.conflicts"_metric, own->conflicts);
    add("tolaria.grad_agg.seed.conflict_ratio"_metric, ratio(own->conflicts, own->comparisons));
  }
  const auto shown = std::min(own->layers.size(), gradients.layers_shown);
  for (const auto& [layer, norm] : std::span(own->layers).first(shown)) {
    out.push_back(metric("tolaria.grad_agg.seed.layer_norm"_metric, norm,
                         {{"seed_id", seed.seed_id}, {"stage", stage}, {"layer", layer}}));
  }
}

struct Totals {
  double conflicts = 0, comparisons = 0, weights = 0, violations = 0;  // each pair counts twice
};

Totals totals_of(const StepMetrics& metrics) {
  Totals totals;
  for (const auto& [id, seed] : metrics.seeds) {
    totals.conflicts += seed.conflicts;
    totals.comparisons += seed.comparisons;
    totals.weights += seed.weight;
    totals.violations += seed.isolation_violations;
  }
  return totals;
}

void warn_of_seed(Outbox& outbox, const config::AggregationConfig& limits, const GradientShare* share,
                  const SeedState& seed, const SeedMetrics& own) {
  const std::string stage(base::name_of(seed.stage));
  const double conflict_ratio = ratio(own.conflicts, own.comparisons);
  if (conflict_ratio > limits.seed_conflict_warn) {
    outbox.emit(
        event("seed_conflict_high"_event, Level::kWarning,
              {{"seed_id", seed.seed_id}, {"stage", stage}, {"conflict_ratio", std::to_string(conflict_ratio)}}));
  }
  if (share != nullptr && std::abs(share->delta) > limits.share_jump_warn) {
    outbox.emit(event("seed_share_jump"_event, Level::kWarning,
                      {{"seed_id", seed.seed_id}, {"stage", stage}, {"delta", std::to_string(share->delta)}}));
  }
  outbox.emit(event("seed_health"_event, Level::kInfo,
                    {{"share", std::to_string(share == nullptr ? 0 : share->share)},
                     {"alpha", std::to_string(seed.figures.alpha)},
                     {"conflicts", std::to_string(own.conflicts)},
                     {"weight", std::to_string(own.weight)},
                     {"seed_id", seed.seed_id},
                     {"stage", stage}}));
}

}  // namespace

void add_seed_gradients(Metrics& out, const kasmina::Network& network, const StepMetrics& metrics,
                        std::span<const SeedState> seeds, const GradientView& gradients) {
  const ParameterCount count = count_host_and_all(network);
  const Totals totals = totals_of(metrics);
  double norms = 0;
  for (const auto& [id, norm] : metrics.group_gradient_norms) norms += norm;
  const double num_seeds = static_cast<double>(metrics.seeds.size());
  const auto add = [&](auto handle, double value) { out.push_back(metric(handle, value)); };
  add("tolaria.grad_agg.conflicts"_metric, totals.conflicts / 2);
  add("tolaria.grad_agg.conflict_ratio"_metric, ratio(totals.conflicts, totals.comparisons));
  add("tolaria.grad_agg.pcgrad_applied"_metric, totals.conflicts > 0 ? 1 : 0);
  add("tolaria.grad_agg.weights_mean"_metric, num_seeds > 0 ? totals.weights / num_seeds : 1);
  add("tolaria.grad_agg.teacher_share"_metric, ratio(norm_of(metrics, kasmina::kHostOwner), norms));
  add("kasmina.isolation.violations"_metric, totals.violations);
  if (seeds.empty()) return;
  add_host_share(out, metrics, count);
  for (const SeedState& seed : seeds) add_seed(out, gradients, metrics, seed, count);
}

void add_isolation(Metrics& out, const StepMetrics& metrics, const SeedState& seed) {
  const SeedMetrics* own = find(metrics, seed.seed_id);
  if (own == nullptr) return;
  const auto add = [&](auto handle, double value) {
    out.push_back(metric(handle, value,
                         {{"seed_id", seed.seed_id},
                          {"slot", seed.slot},
                          {"blueprint", seed.blueprint},
                          {"stage", std::string(base::name_of(seed.stage))}}));
  };
  add("kasmina.seed.isolation.dot"_metric, own->isolation_dot);
  add("kasmina.seed.isolation.host_norm"_metric, own->isolation_host_norm);
  add("kasmina.seed.isolation.seed_norm"_metric, own->isolation_seed_norm);
  add("kasmina.seed.isolation_violations"_metric, own->isolation_violations);
}

void warn_of_seeds(Outbox& outbox, const config::AggregationConfig& limits, const GradientShares& shares,
                   const StepMetrics& metrics, std::span<const SeedState> seeds) {
  const Totals totals = totals_of(metrics);
  const double conflict_ratio = ratio(totals.conflicts, totals.comparisons);
  if (conflict_ratio > limits.conflict_warn) {
    outbox.emit(
        event("grad_conflict_high"_event, Level::kWarning, {{"conflict_ratio", std::to_string(conflict_ratio)}}));
  }
  for (const SeedState& seed : seeds) {
    const SeedMetrics* own = find(metrics, seed.seed_id);
    if (own == nullptr) continue;
    const auto share = shares.find(seed.seed_id);
    warn_of_seed(outbox, limits, share == shares.end() ? nullptr : &share->second, seed, *own);
  }
}

}  // namespace esper::tolaria
