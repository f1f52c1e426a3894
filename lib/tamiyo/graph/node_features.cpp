#include "tamiyo/graph/node_features.h"

#include <algorithm>
#include <cmath>

#include "tamiyo/graph/feature.h"
#include "tamiyo/graph/feature_rows.h"

namespace esper::tamiyo {
namespace {

double transformed(double value, Transform transform) {
  constexpr double kMost = 1e9;  // its square is still far from what a double can hold
  if (!std::isfinite(value)) return kAbsent;
  if (transform == Transform::kLog1p) value = std::log1p(value);
  if (transform == Transform::kTanh) value = std::tanh(value);
  return std::isfinite(value) ? std::clamp(value, -kMost, kMost) : kAbsent;
}

double scaled(const Feature& feature, double value, const Normaliser& normaliser) {
  return feature.statistic ? normaliser.normalised(*feature.statistic, value) : value / feature.divisor;
}

// Appends a node's columns.
void write_row(std::span<const Feature> features, std::span<const double> row, const Normaliser& normaliser,
               NodeTable& table, std::vector<Share>& shares) {
  for (std::size_t i = 0; i < features.size(); ++i) {
    const bool present = std::isfinite(row[i]);
    table.features.push_back(present ? static_cast<float>(scaled(features[i], row[i], normaliser)) : 0.0F);
    if (features[i].flag == Flag::kPresence) table.features.push_back(present ? 1.0F : 0.0F);
    shares[i].present += present ? 1 : 0;
    ++shares[i].total;
  }
}

}  // namespace

void read_features(const GraphNodes& nodes, FeatureValues& values) {
  for_each_type(nodes, [&](NodeType type, auto rows, auto list) {
    auto& own = values[static_cast<std::size_t>(type)];
    own.clear();
    for (const auto& node : list) {
      for (const auto& row : rows) own.push_back(transformed(row.read(node), row.feature.transform));
    }
  });
}

Samples samples_of(const FeatureValues& values) {
  Samples samples{};
  for (std::size_t type = 0; type < values.size(); ++type) {
    const auto features = features_of(static_cast<NodeType>(type));
    for (std::size_t i = 0; i < values[type].size(); ++i) {
      const auto& statistic = features[i % features.size()].statistic;
      if (statistic && std::isfinite(values[type][i])) {
        samples[static_cast<std::size_t>(*statistic)].add(values[type][i]);
      }
    }
  }
  return samples;
}

void scale_features(const FeatureValues& values, const Normaliser& normaliser, HeteroGraph& graph, Coverage& coverage) {
  for (std::size_t type = 0; type < values.size(); ++type) {
    const auto features = features_of(static_cast<NodeType>(type));
    auto& table = graph.nodes[type];
    auto& shares = coverage.features[type];
    table.count = static_cast<int>(values[type].size() / features.size());
    table.features.clear();
    shares.assign(features.size(), {});
    for (std::size_t at = 0; at < values[type].size(); at += features.size()) {
      write_row(features, std::span(values[type]).subspan(at, features.size()), normaliser, table, shares);
    }
  }
}

}  // namespace esper::tamiyo
