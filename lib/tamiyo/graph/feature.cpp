#include "tamiyo/graph/feature.h"

#include <array>
#include <vector>

#include "tamiyo/graph/feature_rows.h"

namespace esper::tamiyo {
namespace {

template <class Node>
std::vector<Feature> without_readers(std::span<const FeatureRow<Node>> rows) {
  std::vector<Feature> features;
  for (const auto& row : rows) features.push_back(row.feature);
  return features;
}

}  // namespace

std::span<const Feature> features_of(NodeType type) {
  static const std::array<std::vector<Feature>, kNodeTypes> kFeatures{
      without_readers(global_rows()), without_readers(seed_rows()),       without_readers(blueprint_rows()),
      without_readers(layer_rows()),  without_readers(activation_rows()), without_readers(parameter_rows())};
  return kFeatures[static_cast<std::size_t>(type)];
}

}  // namespace esper::tamiyo
