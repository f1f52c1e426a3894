// The feature table as a part of docs/policy.md.

#include <fmt/core.h>

#include <string>

#include "base/names.h"
#include "tamiyo/graph/feature.h"
#include "tamiyo/graph/node_caps.h"

namespace esper::tamiyo {
namespace {

std::string scale_of(const Feature& feature) {
  std::string text = feature.transform == Transform::kLog1p  ? "log1p"
                     : feature.transform == Transform::kTanh ? "tanh"
                                                             : "";
  if (feature.statistic) {
    const auto& prior = prior_of(*feature.statistic);
    text += fmt::format("{}normalised, {:.4g} ± {:.4g}", text.empty() ? "" : ", ", prior.mean, prior.deviation);
  }
  if (feature.divisor != 1) text += fmt::format("/ {:g}", feature.divisor);
  return text.empty() ? "as it is" : text;
}

std::string table_of(NodeType type) {
  const auto place = static_cast<std::size_t>(type);
  std::string text = fmt::format(
      "\n### {}: {} columns, at most {} node{}\n\n| column | flag | feature | meaning | unit | range | scaled |\n"
      "|---:|---:|---|---|---|---|---|\n",
      base::name_of(type), kNodeFeatures[place], kNodeCaps[place], kNodeCaps[place] == 1 ? "" : "s");
  int column = 0;
  for (const Feature& feature : features_of(type)) {
    const auto flag = feature.flag == Flag::kPresence ? fmt::format("{}", column + 1) : "";
    text += fmt::format("| {} | {} | `{}` | {} | {} | {} | {} |\n", column, flag, feature.name, feature.meaning,
                        feature.unit, feature.range, scale_of(feature));
    column += feature.columns();
  }
  return text;
}

}  // namespace

std::string policy_features_markdown() {
  std::string text;
  for (const auto& [type, name] : names(NodeType{})) text += table_of(type);
  return text;
}

}  // namespace esper::tamiyo
