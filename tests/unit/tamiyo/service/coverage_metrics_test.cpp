#include "tamiyo/service/coverage_metrics.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "tamiyo/graph/coverage.h"

namespace esper::test::coverage_metrics_test {

using namespace esper;
using namespace esper::tamiyo;

TEST_CASE("each family of inputs has its metric, and what is no family has none") {
  leyline::Assessment assessment;
  for (const auto& family : family_coverage({})) assessment.family_coverage[std::string(family.name)] = 0.25;
  assessment.family_coverage["node.unheard_of"] = 1;
  std::vector<leyline::MetricValue> metrics;
  add_family_coverage(metrics, assessment);
  REQUIRE(metrics.size() == kFamilies);
  assessment.family_coverage.erase("node.unheard_of");
  auto next = metrics.begin();
  for (const auto& [name, ratio] : assessment.family_coverage) {
    CHECK(next->name == "tamiyo.gnn.feature_coverage." + name);
    CHECK(next++->value == ratio);
  }
}

}  // namespace esper::test::coverage_metrics_test
