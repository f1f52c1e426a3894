#include "step/clip_gradients.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "support/models/step_fixture.h"

namespace esper::test::clip_gradients_test {

using namespace esper::step;
using namespace esper::test;

namespace {

constexpr double kClip = 0.5;

// A step whose gradients are these in all elements, but for the first one.
void count_step(StepState& state, double all, double first) {
  const at::NoGradGuard no_grad;
  state.gradients.fill_(all);
  state.gradients[0].fill_(first);
  state.metrics.counts[0].add_(1);
  measure_norms(state);
  clip_and_count(state, kClip);
}

void check_counts(StepState& state) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  count_step(state, 1, 1);
  count_step(state, 1, kInfinity);
  count_step(state, 1, -kInfinity);
  count_step(state, 1, std::numeric_limits<double>::quiet_NaN());
  count_step(state, 1e-6, 1e-6);
  const StepMetrics metrics = read_metrics(state);
  CHECK(metrics.steps == 5);
  CHECK(metrics.nonfinite_steps == 3);
  CHECK(metrics.clipped_steps == 1);
}

}  // namespace

TEST_CASE("a step whose gradient norm is not finite is not one that clipping shortened") {
  Bench together(plain_sgd());
  check_counts(together.state);
  Bench apart(plain_sgd(), Grouping::kTwo);
  apart.state.groups[1].isolation_gate = at::zeros({}, torch::kFloat32);
  check_counts(apart.state);
}

}  // namespace esper::test::clip_gradients_test
