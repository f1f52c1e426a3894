#include "step/counted_targets.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "support/call_counter.h"
#include "support/models/step_fixture.h"

namespace esper::test::counted_targets_test {
namespace {

using namespace esper::step;

StepSettings in_fp16() {
  StepSettings settings = adamw();
  settings.compute_type = torch::kHalf;
  return settings;
}

// The same samples, of which one is beyond the range of halves.
Microbatch beyond_halves(Microbatch batch) {
  batch.inputs = batch.inputs.clone();
  batch.inputs[1].fill_(1e6);
  return batch;
}

}  // namespace

TEST_CASE("a step that overflows in its forward is in no mean") {
  const auto sizes = GENERATE(std::vector<std::int64_t>{8}, std::vector<std::int64_t>{5, 3});
  const bool weighted = GENERATE(false, true);
  StepSettings settings = in_fp16();
  if (weighted) settings.loss.class_weights = {1, 2, 0.5, 1};
  Bench bench(settings), calm(settings);
  for (Bench* each : {&bench, &calm}) {
    each->state.loss_scale.scale.fill_(1024);
    each->step(cut(samples(8), sizes));
  }
  bench.step(cut(beyond_halves(samples(8, 3)), sizes));
  for (Bench* each : {&bench, &calm}) each->step(cut(samples(8, 5), sizes));
  const StepMetrics found = read_metrics(bench.state), expected = read_metrics(calm.state);
  CHECK(std::isfinite(found.loss));
  CHECK(found.loss == expected.loss);
  CHECK(found.accuracy == expected.accuracy);
  CHECK(found.samples == expected.samples);
  CHECK(found.gradient_norm == expected.gradient_norm);
  CHECK(found.steps == 3);
  CHECK(found.nonfinite_steps == 1);
}

TEST_CASE("the loss of a step counts where only its gradient overflowed") {
  Bench bench(in_fp16());
  bench.state.loss_scale.scale.fill_(std::ldexp(1.0, 40));
  bench.step({samples(8)});
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK(metrics.nonfinite_steps == 1);
  CHECK(metrics.samples == 8);
  CHECK(metrics.loss > 0);
}

TEST_CASE("where every step overflowed there is no mean loss") {
  Bench bench(in_fp16());
  for (int i = 0; i < 2; ++i) bench.step({beyond_halves(samples(8))});
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK(metrics.steps == 2);
  CHECK(metrics.samples == 0);
  CHECK(std::isnan(metrics.loss));
}

TEST_CASE("without a loss scale a loss that is not finite shows") {
  Bench bench(plain_sgd());
  Microbatch batch = samples(8);
  batch.inputs = at::full_like(batch.inputs, std::numeric_limits<double>::infinity());
  bench.step({batch});
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK(std::isnan(metrics.loss));
  CHECK(metrics.samples == 8);
}

}  // namespace esper::test::counted_targets_test
