#include "step/step_metrics.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "support/models/step_fixture.h"

namespace esper::test::step_metrics_test {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// What three steps cannot have counted.
constexpr double kSpoiltCounts[] = {kNaN, kInf, -kInf, 1e300, 1e30, -1.0, -0.5, 3.5, 4.0};

}  // namespace

TEST_CASE("where a sum of the finite steps is none, every step counts as one that is not finite") {
  for (const double sum : kSpoiltCounts) {
    CAPTURE(sum);
    Bench bench(plain_sgd());
    for (int i = 0; i < 3; ++i) bench.step({samples(8)});
    CHECK(step::metrics_so_far(bench.state).nonfinite_steps == 0);
    bench.state.metrics.sums[step::kFinite].fill_(sum);
    const step::StepMetrics metrics = step::metrics_so_far(bench.state);
    CHECK(metrics.steps == 3);
    CHECK(metrics.nonfinite_steps == 3);
    CHECK(metrics.gradient_norm == 0);
  }
}

TEST_CASE("where a sum of the clipped steps is none, no step counts as one") {
  for (const double sum : kSpoiltCounts) {
    CAPTURE(sum);
    Bench bench(plain_sgd());
    for (int i = 0; i < 3; ++i) bench.step({samples(8)});
    bench.state.metrics.sums[step::kClipped].fill_(2);
    CHECK(step::metrics_so_far(bench.state).clipped_steps == 2);
    bench.state.metrics.sums[step::kClipped].fill_(sum);
    CHECK(step::metrics_so_far(bench.state).clipped_steps == 0);
  }
}

}  // namespace esper::test::step_metrics_test
