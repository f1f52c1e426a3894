#include "step/finite_watch.h"

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>

#include "support/models/step_fixture.h"

namespace esper::test::finite_watch_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

// The same samples with one number replaced.
step::Microbatch with(step::Microbatch batch, double value) {
  batch.inputs = batch.inputs.clone();
  batch.inputs.view(-1)[3].fill_(value);
  return batch;
}

using Overflow = step::FiniteWatch::Overflow;

bool trips(step::FiniteWatch& watch, const Bench& bench, const std::vector<step::Microbatch>& batch = {}) {
  return watch.trips(bench.state, [&] { return step::first_not_finite(step::named_tensors(bench.state), batch); });
}

}  // namespace

TEST_CASE("the step with a number that is not finite trips the watch, and no step before it") {
  for (const double bad : {kNaN, kInf, -kInf}) {
    Bench bench(plain_sgd());
    step::FiniteWatch watch;
    watch.begin(bench.state, Overflow::kFailure);
    for (int i = 0; i < 3; ++i) {
      bench.step({samples(8)});
      REQUIRE_FALSE(trips(watch, bench));
    }
    const std::vector<step::Microbatch> spoilt{samples(8), with(samples(8), bad)};
    bench.step(spoilt);
    CHECK(trips(watch, bench));
    CHECK(step::first_not_finite(step::named_tensors(bench.state), spoilt) == "batch.1.inputs");
    CHECK_FALSE(step::first_not_finite(step::named_tensors(bench.state), {}).empty());
  }
}

TEST_CASE("one that is not finite in the parameters trips it, too, and is named") {
  Bench bench(adamw());
  step::FiniteWatch watch;
  bench.net.b2.detach()[1].fill_(kNaN);
  const std::vector<step::Microbatch> batch{samples(8)};
  CHECK(step::first_not_finite(step::named_tensors(bench.state), batch) == bench.state.groups[0].parameter_ids[3]);
  watch.begin(bench.state, Overflow::kFailure);
  bench.step(batch);
  CHECK(trips(watch, bench));
}

namespace {

// Sums of the finite steps that three steps cannot have.
constexpr double kSpoiltSums[] = {kNaN, kInf, -kInf, 1e300, 1e30, -1.0, -0.5, 3.5, 4.0};

// Of three steps that were finite.
struct SpoiltSum {
  Bench bench{plain_sgd()};
  step::FiniteWatch watch;

  SpoiltSum(double sum, Overflow overflow) {
    watch.begin(bench.state, overflow);
    for (int i = 0; i < 3; ++i) bench.step({samples(8)});
    REQUIRE_FALSE(trips(watch, bench));
    bench.state.metrics.sums[step::kFinite].fill_(sum);
  }
};

}  // namespace

TEST_CASE("a sum of the finite steps that no steps can have trips it, also where the watch begins with it") {
  for (const double sum : kSpoiltSums) {
    CAPTURE(sum);
    SpoiltSum it(sum, Overflow::kFailure);
    CHECK(trips(it.watch, it.bench));
    it.watch.begin(it.bench.state, Overflow::kFailure);
    CHECK(trips(it.watch, it.bench));
  }
}

TEST_CASE("where overflows are ordinary such a sum has every step looked into, not only the first one") {
  for (const double sum : kSpoiltSums) {
    CAPTURE(sum);
    SpoiltSum it(sum, Overflow::kOrdinary);
    std::string bad;
    const auto bad_tensor = [&] { return bad; };
    CHECK_FALSE(it.watch.trips(it.bench.state, bad_tensor));
    bad = "host.1.weight";
    CHECK(it.watch.trips(it.bench.state, bad_tensor));
  }
}

TEST_CASE("a loss that is not finite trips it, though every gradient is") {
  auto settings = plain_sgd();
  settings.loss.kind = config::LossKind::kHuber;  // its gradient is at most huber_delta
  const auto batch_with = [](double target) {
    return std::vector<step::Microbatch>{{samples(8).inputs, at::full({8, 4}, target)}};
  };
  Bench bench(settings);
  step::FiniteWatch watch;
  watch.begin(bench.state, Overflow::kFailure);
  bench.step(batch_with(1));
  CHECK_FALSE(trips(watch, bench));
  bench.step(batch_with(3e38));  // a single one is finite, their sum is not
  CHECK(trips(watch, bench));
  CHECK(bench.state.gradients.isfinite().all().item<bool>());
}

TEST_CASE("one element of a gradient that is not finite trips it") {
  const auto group = GENERATE(0, 1);
  Bench bench(adamw(), Grouping::kTwo);
  step::FiniteWatch watch;
  watch.begin(bench.state, Overflow::kFailure);
  bench.step({samples(8)});
  REQUIRE_FALSE(trips(watch, bench));
  const torch::Tensor element = bench.state.groups[static_cast<std::size_t>(group)].parameters.views[0].view(-1)[2];
  step::train_step(bench.state, bench.settings, std::vector{samples(8)},
                   [&](const torch::Tensor& inputs, kasmina::SlotTaps*) {
                     // 0, with an infinite slope along the element.
                     return bench.net.forward(inputs) + at::sqrt(element - element.detach());
                   });
  CHECK(trips(watch, bench));
  CHECK(at::isfinite(bench.state.gradients).logical_not().sum().item<std::int64_t>() >= 1);
}

TEST_CASE("each step of a burst trips it, once it watches again, and none after the burst") {
  const int length = GENERATE(1, 10, 100);
  Bench bench(plain_sgd());
  const auto good = snapshot(bench.state);
  step::FiniteWatch watch;
  for (int i = 0; i < length + 5; ++i) {
    CAPTURE(i);
    watch.begin(bench.state, Overflow::kFailure);
    const bool is_bad = i < length;
    bench.step({is_bad ? with(samples(8, i), kNaN) : samples(8, i)});
    REQUIRE(trips(watch, bench) == is_bad);
    if (!is_bad) continue;
    const at::NoGradGuard no_grad;  // as a run does that goes back
    for (const auto& [id, tensor] : step::named_tensors(bench.state)) torch::Tensor(tensor).copy_(good.at(id));
  }
}

TEST_CASE("what went wrong before the watch began does not trip it") {
  Bench bench(plain_sgd());
  step::FiniteWatch watch;
  watch.begin(bench.state, Overflow::kFailure);
  bench.step({samples(8)});
  step::read_metrics(bench.state);
  watch.begin(bench.state, Overflow::kFailure);
  bench.step({samples(8)});
  CHECK_FALSE(trips(watch, bench));
}

TEST_CASE("with fp16 a step whose gradients overflow is ordinary, and one with bad inputs or parameters is not") {
  auto settings = plain_sgd();
  settings.compute_type = torch::kHalf;
  Bench bench(settings);
  step::FiniteWatch watch;
  watch.begin(bench.state, Overflow::kOrdinary);
  const std::vector<step::Microbatch> batch{samples(8)};
  for (int i = 0; i < 40; ++i) {
    bench.state.loss_scale.scale.fill_(3e38);
    bench.step(batch);
    REQUIRE_FALSE(trips(watch, bench, batch));
  }
  const std::vector<step::Microbatch> spoilt{with(samples(8), kNaN)};
  bench.step(spoilt);
  CHECK(trips(watch, bench, spoilt));
  CHECK(step::first_not_finite(step::named_tensors(bench.state), spoilt) == "batch.0.inputs");

  watch.begin(bench.state, Overflow::kOrdinary);
  bench.net.b2.detach()[1].fill_(kNaN);
  bench.step(batch);
  CHECK(trips(watch, bench, batch));
}

TEST_CASE("with fp16 gradients that overflow however small the scale trip it, whenever it began to watch") {
  auto settings = plain_sgd();
  settings.compute_type = torch::kHalf;
  settings.loss.kind = config::LossKind::kHuber;
  settings.loss.huber_delta = 1e30;
  Bench bench(settings);
  const std::vector<step::Microbatch> batch{{samples(8).inputs, at::full({8, 4}, 1e18)}};
  step::FiniteWatch watch;
  watch.begin(bench.state, Overflow::kOrdinary);
  int steps = 0;
  for (bool tripped = false; !tripped && steps < 100; ++steps) {
    if (steps % 7 == 0) {
      watch = {};
      watch.begin(bench.state, Overflow::kOrdinary);
    }
    bench.step(batch);
    tripped = trips(watch, bench, batch);
  }
  CHECK(steps == 24);
  CHECK(step::FiniteWatch::is_scale_at_its_end(bench.state));
  CHECK(step::first_not_finite(step::named_tensors(bench.state), batch).empty());
}

TEST_CASE("a scale that begins below 1 may fall to a 256th of its beginning") {
  auto settings = plain_sgd();
  settings.compute_type = torch::kHalf;
  settings.grad_scaler.init_scale = 0.25;
  Bench bench(settings);
  CHECK_FALSE(step::FiniteWatch::is_scale_at_its_end(bench.state));
  bench.state.loss_scale.scale.fill_(1.0 / 512);
  CHECK_FALSE(step::FiniteWatch::is_scale_at_its_end(bench.state));
  bench.state.loss_scale.scale.fill_(1.0 / 1024);
  CHECK(step::FiniteWatch::is_scale_at_its_end(bench.state));
}

}  // namespace esper::test::finite_watch_test
