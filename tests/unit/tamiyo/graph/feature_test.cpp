#include "tamiyo/graph/feature.h"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/names.h"

namespace esper::tamiyo::feature_test {
namespace {

std::vector<std::string> columns_of(NodeType type) {
  std::vector<std::string> columns;
  for (const auto& feature : features_of(type)) {
    columns.emplace_back(feature.name);
    if (feature.flag == Flag::kPresence) columns.emplace_back("+");
  }
  return columns;
}

TEST_CASE("each node type has its features in its columns") {
  using Columns = std::vector<std::string>;
  CHECK(columns_of(NodeType::kGlobal) == Columns{"loss", "+", "validation_loss", "+", "training_loss", "+",
                                                 "gradient_norm", "+", "samples_per_s", "+", "hook_latency_ms", "+",
                                                 "epoch", "step", "seeds", "epoch_progress"});
  CHECK(columns_of(NodeType::kSeed) == Columns{"learning_rate", "+", "risk", "+", "gradient_norm", "+", "age", "+",
                                               "stage", "+", "layer_depth", "+", "index", "blend_allowed"});
  CHECK(columns_of(NodeType::kBlueprint) == Columns{"index", "validation_loss", "+", "training_loss", "+", "risk",
                                                    "stage", "parameters", "+", "tier", "quarantine", "approval",
                                                    "candidate_score", "+"});
  CHECK(columns_of(NodeType::kLayer) == Columns{"depth", "+", "latency_ms", "+", "parameters", "+", "dropout", "kind",
                                                "activation", "weight_norm", "gradient_norm", "described"});
  CHECK(columns_of(NodeType::kActivation) ==
        Columns{"kind", "+", "saturation", "+", "gradient_flow", "cost", "nonlinearity", "position"});
  CHECK(columns_of(NodeType::kParameter) ==
        Columns{"min", "+", "max", "+", "span", "+", "default", "+", "risk", "stage"});
}

TEST_CASE("the columns of each node type are as many as the network takes") {
  for (const auto& [type, name] : names(NodeType{})) {
    CAPTURE(name);
    CHECK(columns_of(type).size() == static_cast<std::size_t>(kNodeFeatures[static_cast<std::size_t>(type)]));
  }
}

TEST_CASE("each feature is described, and each statistic is some feature's") {
  std::set<Statistic> used;
  for (const auto& [type, type_name] : names(NodeType{})) {
    std::set<std::string_view> seen;
    for (const auto& feature : features_of(type)) {
      CAPTURE(type_name, feature.name);
      CHECK(seen.insert(feature.name).second);
      CHECK_FALSE(feature.meaning.empty());
      CHECK_FALSE(feature.unit.empty());
      CHECK_FALSE(feature.range.empty());
      CHECK((!feature.statistic || feature.divisor == 1));
      if (feature.statistic) used.insert(*feature.statistic);
    }
  }
  CHECK(used.size() == kStatistics);
}

}  // namespace
}  // namespace esper::tamiyo::feature_test
