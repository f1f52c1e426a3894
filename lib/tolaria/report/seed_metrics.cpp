#include "tolaria/report/seed_metrics.h"

#include <optional>
#include <string>

#include "base/names.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {
namespace {

using leyline::metric;
using leyline::MetricValue;
using leyline::SeedState;
using namespace leyline::literals;

// The labels of every metric of one seed.
template <class Handle>
MetricValue seed_metric(Handle handle, const SeedState& seed, double value) {
  return metric(handle, value,
                {{"seed_id", seed.seed_id},
                 {"slot", seed.slot},
                 {"blueprint", seed.blueprint},
                 {"stage", std::string(base::name_of(seed.stage))}});
}

template <class Handle>
void add_if_known(std::vector<MetricValue>& out, Handle handle, const SeedState& seed, std::optional<double> figure) {
  if (figure) out.push_back(seed_metric(handle, seed, *figure));
}

// As last measured: it stays after its last epoch was compared.
void add_worth(std::vector<MetricValue>& out, const SeedState& seed) {
  const auto& worth = seed.figures.worth;
  if (worth.epochs == 0) return;
  out.push_back(seed_metric("kasmina.seed.worth_epochs"_metric, seed, worth.epochs));
  add_if_known(out, "kasmina.seed.worth_loss"_metric, seed, worth.loss);
  add_if_known(out, "kasmina.seed.worth_loss_stderr"_metric, seed, worth.loss_stderr);
  add_if_known(out, "kasmina.seed.worth_loss_half_width"_metric, seed, worth.loss_half_width);
  add_if_known(out, "kasmina.seed.worth_points"_metric, seed, worth.points);
  add_if_known(out, "kasmina.seed.worth_stderr_points"_metric, seed, worth.points_stderr);
  add_if_known(out, "kasmina.seed.worth_half_width_points"_metric, seed, worth.points_half_width);
}

}  // namespace

std::vector<MetricValue> seed_metrics(const SeedState& seed) {
  std::vector<MetricValue> out;
  out.push_back(seed_metric("kasmina.seed.stage"_metric, seed, static_cast<double>(seed.stage)));
  add_if_known(out, "kasmina.seed.alpha"_metric, seed, seed.figures.alpha);
  add_if_known(out, "kasmina.seed.alpha_steps"_metric, seed, seed.figures.alpha_ticks);
  add_if_known(out, "kasmina.seed.params"_metric, seed, seed.figures.params);
  return out;
}

std::vector<MetricValue> measured_metrics(const SeedState& seed) {
  std::vector<MetricValue> out;
  add_if_known(out, "kasmina.seed.gradient_ratio"_metric, seed, seed.figures.gradient_ratio);
  add_if_known(out, "kasmina.seed.improvement_points"_metric, seed, seed.figures.improvement_points);
  add_if_known(out, "kasmina.seed.shadow_points"_metric, seed, seed.figures.shadow_points);
  add_if_known(out, "kasmina.seed.contribution_points"_metric, seed, seed.figures.contribution_points);
  add_if_known(out, "kasmina.seed.contribution_stderr_points"_metric, seed, seed.figures.contribution_stderr_points);
  add_if_known(out, "kasmina.seed.contribution_half_width_points"_metric, seed,
               seed.figures.contribution_half_width_points);
  add_if_known(out, "kasmina.seed.shapley_points"_metric, seed, seed.figures.shapley_points);
  add_if_known(out, "kasmina.seed.shapley_stderr_points"_metric, seed, seed.figures.shapley_stderr_points);
  add_if_known(out, "kasmina.seed.shapley_half_width_points"_metric, seed, seed.figures.shapley_half_width_points);
  add_worth(out, seed);
  return out;
}

}  // namespace esper::tolaria
