#include "step/finite_watch.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "support/step_fixture.h"

namespace esper::test::finite_watch_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// The same samples with one number replaced.
step::Microbatch with(step::Microbatch batch, double value) {
  batch.inputs = batch.inputs.clone();
  batch.inputs.view(-1)[3].fill_(value);
  return batch;
}

}  // namespace

TEST_CASE("the step with a number that is not finite trips the watch, and no step before it") {
  for (const double bad : {kNaN, kInf, -kInf}) {
    Bench bench(plain_sgd());
    step::FiniteWatch watch;
    watch.begin(bench.state);
    for (int i = 0; i < 3; ++i) {
      bench.step({samples(8)});
      REQUIRE_FALSE(watch.is_tripped(bench.state));
    }
    const std::vector<step::Microbatch> spoilt{samples(8), with(samples(8), bad)};
    bench.step(spoilt);
    CHECK(watch.is_tripped(bench.state));
    CHECK(step::first_not_finite(bench.state, spoilt) == "batch.1.inputs");
    CHECK_FALSE(step::first_not_finite(bench.state, {}).empty());
  }
}

TEST_CASE("one that is not finite in the parameters trips it, too, and is named") {
  Bench bench(adamw());
  step::FiniteWatch watch;
  bench.net.b2.detach()[1].fill_(kNaN);
  const std::vector<step::Microbatch> batch{samples(8)};
  CHECK(step::first_not_finite(bench.state, batch) == bench.state.groups[0].parameter_ids[3]);
  watch.begin(bench.state);
  bench.step(batch);
  CHECK(watch.is_tripped(bench.state));
}

TEST_CASE("what went wrong before the watch began does not trip it") {
  Bench bench(plain_sgd());
  step::FiniteWatch watch;
  watch.begin(bench.state);
  bench.step({samples(8)});
  step::read_metrics(bench.state);
  watch.begin(bench.state);
  bench.step({samples(8)});
  CHECK_FALSE(watch.is_tripped(bench.state));
}

TEST_CASE("with fp16 the scaler undoes such a step, so it is not watched") {
  auto settings = plain_sgd();
  settings.compute_type = torch::kHalf;
  Bench bench(settings);
  step::FiniteWatch watch;
  watch.begin(bench.state);
  bench.step({with(samples(8), kNaN)});
  CHECK_FALSE(watch.is_tripped(bench.state));
}

}  // namespace esper::test::finite_watch_test
