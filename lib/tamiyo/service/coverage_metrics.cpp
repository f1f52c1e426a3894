#include "tamiyo/service/coverage_metrics.h"

#include <algorithm>
#include <string_view>

#include "leyline/telemetry/telemetry.h"

namespace esper::tamiyo {

using leyline::MetricValue;
using namespace leyline::literals;

namespace {

template <auto kHandle>
MetricValue coverage(double ratio) {
  return leyline::metric(kHandle, ratio);
}

struct Family {
  std::string_view name;
  MetricValue (*metric)(double ratio);
};

// As graph/coverage.h names them.
constexpr Family kFamilyMetrics[] = {
    {"node.seed", coverage<"tamiyo.gnn.feature_coverage.node.seed"_metric>},
    {"node.layer", coverage<"tamiyo.gnn.feature_coverage.node.layer"_metric>},
    {"node.activation", coverage<"tamiyo.gnn.feature_coverage.node.activation"_metric>},
    {"node.parameter", coverage<"tamiyo.gnn.feature_coverage.node.parameter"_metric>},
    {"node.blueprint", coverage<"tamiyo.gnn.feature_coverage.node.blueprint"_metric>},
    {"node.global", coverage<"tamiyo.gnn.feature_coverage.node.global"_metric>},
    {"edges.layer_connects", coverage<"tamiyo.gnn.feature_coverage.edges.layer_connects"_metric>},
    {"edges.seed_monitors", coverage<"tamiyo.gnn.feature_coverage.edges.seed_monitors"_metric>},
    {"edges.layer_feeds", coverage<"tamiyo.gnn.feature_coverage.edges.layer_feeds"_metric>},
    {"edges.layer_activates", coverage<"tamiyo.gnn.feature_coverage.edges.layer_activates"_metric>},
    {"edges.activation_configures", coverage<"tamiyo.gnn.feature_coverage.edges.activation_configures"_metric>},
    {"edges.parameter_modulates", coverage<"tamiyo.gnn.feature_coverage.edges.parameter_modulates"_metric>},
    {"edges.blueprint_composes", coverage<"tamiyo.gnn.feature_coverage.edges.blueprint_composes"_metric>},
    {"edges.parameter_targets", coverage<"tamiyo.gnn.feature_coverage.edges.parameter_targets"_metric>},
    {"edges.global_influences", coverage<"tamiyo.gnn.feature_coverage.edges.global_influences"_metric>},
    {"edges.seed_reports", coverage<"tamiyo.gnn.feature_coverage.edges.seed_reports"_metric>},
    {"edges.global_operates", coverage<"tamiyo.gnn.feature_coverage.edges.global_operates"_metric>},
    {"edges.layer_feedback", coverage<"tamiyo.gnn.feature_coverage.edges.layer_feedback"_metric>},
};

}  // namespace

void add_family_coverage(std::vector<MetricValue>& out, const leyline::Assessment& assessment) {
  for (const auto& [name, ratio] : assessment.family_coverage) {
    const auto* family = std::ranges::find(kFamilyMetrics, name, &Family::name);
    if (family != std::end(kFamilyMetrics)) out.push_back(family->metric(ratio));
  }
}

}  // namespace esper::tamiyo
