#include "drill/scorecard.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support/environment_variable.h"

namespace esper::test::scorecard_test {

TEST_CASE("a drill that this machine cannot carry out is skipped, and neither passes nor fails") {
  const EnvironmentVariable none("CUDA_VISIBLE_DEVICES", "");
  drill::Drill graphs;
  graphs.needs = drill::Needs::kGpu;
  drill::DrillSetup setup;
  CHECK_THAT(drill::missing_requirement(graphs, setup), Catch::Matchers::ContainsSubstring("no CUDA support"));
  setup.can_use_gpus = true;
  CHECK_FALSE(drill::missing_requirement(graphs, setup).empty());
  drill::References references("unused");
  const auto skipped = drill::run_drill(graphs, setup, references);
  CHECK(skipped.ends.empty());
  graphs.needs = drill::Needs::kNothing;
  CHECK(drill::missing_requirement(graphs, setup).empty());
  drill::DrillResult bad;
  bad.failures = {"no event"};
  const std::vector<drill::DrillResult> results{skipped, {}, bad};
  const auto card = drill::scorecard(results, "build", "");
  CHECK((card["passed"] == 1 && card["failed"] == 1 && card["skipped"] == 1));
  CHECK(card["drills"][0]["passed"] == false);
  CHECK_FALSE(card["drills"][0]["skipped"].get<std::string>().empty());
  CHECK_THAT(drill::scorecard_text(results), Catch::Matchers::ContainsSubstring("1 of 3 drills passed, 1 skipped"));
  CHECK(drill::none_failed({skipped}));
  CHECK_FALSE(drill::none_failed(results));
}

}  // namespace esper::test::scorecard_test
