#include "step/model.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/error.h"
#include "support/lane_cases.h"

using namespace esper;
using namespace esper::tests;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("classes that the data turn out not to have are refused by field before training") {
  LaneCase c = lane_case("classes", config::HostKind::kMlp, leyline::features_shape(6, 5), 4);
  auto& classes = c.config.growth.aggregation.classes;
  classes = {"r0c0=0,4", "r0c1=3"};
  CHECK_NOTHROW(make_model(c));
  classes = {"r0c0=0,4", "r0c1=3,12", "r0c1=5"};
  CHECK_THROWS_MATCHES(
      make_model(c), base::Error,
      MessageMatches(
          ContainsSubstring("growth.aggregation.classes[1]: there is no class 12; the data have 5, 0 to 4\n") &&
          ContainsSubstring("growth.aggregation.classes[2]: there is no class 5")));
}
