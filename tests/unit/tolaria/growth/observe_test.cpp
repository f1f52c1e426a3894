#include "tolaria/growth/observe.h"

#include <catch2/catch_test_macros.hpp>

#include "support/run_fixture.h"

namespace esper::test::observe_test {

TEST_CASE("the host's gradient has the parameters that it owns, those of its fossils too") {
  auto config = small_config();
  config.host.modules = {"r0c0=mlp"};
  const SmallRun it(config);
  it.model->network.apply(leyline::germination("grow", "r0c1", "mlp"), it.run.data.probe);
  step::StepMetrics metrics;
  metrics.group_gradient_norms = {{"host", 3}, {"seed-0001", 4}, {"seed-0002", 100}};
  const auto facts = tolaria::facts_of(it.model->network, 1, {metrics, {}, {}});
  CHECK(facts.host_gradient_norm == 5);
  REQUIRE(facts.seeds.size() == 2);
  CHECK(facts.seeds[0].gradient_norm == 4);
  CHECK(facts.seeds[1].gradient_norm == 100);
}

}  // namespace esper::test::observe_test
