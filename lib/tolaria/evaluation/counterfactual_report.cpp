#include "tolaria/evaluation/counterfactual_report.h"

#include "base/names.h"
#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::metric;
using leyline::MetricValue;
using namespace leyline::literals;

void add_counterfactual(std::vector<MetricValue>& out, const Counterfactual& measured) {
  if (measured.end != Counterfactual::End::kMeasured) return;
  out.push_back(metric("tolaria.counterfactual.accuracy_without_seeds"_metric, measured.accuracy_without_seeds));
  out.push_back(metric("tolaria.counterfactual.configurations"_metric, measured.configurations));
  out.push_back(metric("tolaria.counterfactual.latency_ms"_metric, measured.latency_ms));
  out.push_back(metric("tolaria.counterfactual.permutations"_metric, measured.permutations));
  for (const auto& pair : measured.pairs) {
    out.push_back(metric("kasmina.seeds.interaction_points"_metric, pair.interaction.value,
                         {{"seed_id", pair.first}, {"other_seed_id", pair.second}}));
    if (!pair.interaction.standard_error) continue;
    out.push_back(metric("kasmina.seeds.interaction_stderr_points"_metric, *pair.interaction.standard_error,
                         {{"seed_id", pair.first}, {"other_seed_id", pair.second}}));
    out.push_back(metric("kasmina.seeds.interaction_half_width_points"_metric, *pair.interaction.half_width,
                         {{"seed_id", pair.first}, {"other_seed_id", pair.second}}));
  }
}

leyline::TelemetryEvent late_counterfactual(const Counterfactual& measured, std::uint32_t epoch,
                                            base::Duration deadline) {
  return leyline::event("tolaria.counterfactual_late"_event, leyline::Level::kWarning,
                        {{"epoch", std::to_string(epoch)},
                         {"latency_ms", std::to_string(measured.latency_ms)},
                         {"deadline_ms", std::to_string(base::milliseconds(deadline))}});
}

leyline::TelemetryEvent limited_counterfactual(const Counterfactual& measured, std::uint32_t epoch,
                                               int max_configurations) {
  return leyline::event("tolaria.counterfactual_limited"_event, leyline::Level::kWarning,
                        {{"epoch", std::to_string(epoch)},
                         {"seeds", std::to_string(measured.seeds.size())},
                         {"omitted", std::string(base::name_of(measured.limit->omitted))},
                         {"max_configurations", std::to_string(max_configurations)},
                         {"needed", std::to_string(measured.limit->needed)}});
}

}  // namespace esper::tolaria
