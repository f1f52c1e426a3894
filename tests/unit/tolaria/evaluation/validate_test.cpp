#include "tolaria/evaluation/validate.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "step/ema.h"
#include "support/models/step_fixture.h"

namespace esper::test::validate_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::tolaria;
using namespace esper::test;
using Catch::Matchers::WithinRel;

namespace {

NextBatch each_of(std::vector<Microbatch> batches) {
  return [batches = std::move(batches), next = std::size_t{0}]() mutable -> std::optional<Microbatch> {
    if (next == batches.size()) return std::nullopt;
    return batches[next++];
  };
}

}  // namespace

TEST_CASE("validation weighs samples, not batches, and changes nothing") {
  Bench bench(plain_sgd());
  const auto before = snapshot(bench.state);
  const Microbatch whole = samples(10);
  const Forward forward = [&](const torch::Tensor& x) {
    CHECK(c10::InferenceMode::is_enabled());
    return bench.net.forward(x);
  };
  const ValidationResult result = validate(each_of(cut(whole, {7, 2, 1})), forward, {});
  const torch::Tensor logits = bench.net.forward(whole.inputs);
  CHECK(result.samples == 10);
  CHECK(result.complete);
  CHECK_THAT(result.loss, WithinRel(at::cross_entropy_loss(logits, whole.targets).item<double>(), 1e-6));
  CHECK_THAT(result.score,
             WithinRel(logits.argmax(1).eq(whole.targets).to(torch::kFloat64).mean().item<double>(), 1e-9));
  for (const auto& [id, tensor] : snapshot(bench.state)) CHECK(same_bits(tensor, before.at(id)));
}

TEST_CASE("a sequence is one sample, whose tokens each have a target") {
  const Microbatch text{torch::zeros({2, 5}, torch::kInt64), torch::zeros({2, 5}, torch::kInt64)};
  const Forward forward = [](const torch::Tensor& x) { return torch::zeros({x.size(0), x.size(1), 3}); };
  const ValidationResult result = validate(each_of({text, text}), forward, {});
  CHECK(result.samples == 4);
  CHECK(result.targets == 20);
  CHECK_THAT(result.loss, WithinRel(std::log(3.0), 1e-6));
}

TEST_CASE("each sample's figures are kept if they are asked for, and change no other value") {
  Bench bench(plain_sgd());
  const Microbatch whole = samples(10);
  const Forward forward = [&](const torch::Tensor& x) { return bench.net.forward(x); };
  const auto plain = validate(each_of(cut(whole, {7, 2, 1})), forward, {});
  CHECK_FALSE(plain.by_sample.loss.defined());
  Validation keeping;
  keeping.per_sample = PerSample::kKept;
  const auto kept = validate(each_of(cut(whole, {7, 2, 1})), forward, keeping);
  CHECK(kept.loss == plain.loss);
  CHECK(kept.score == plain.score);
  REQUIRE(kept.by_sample.loss.dim() == 1);
  REQUIRE(kept.by_sample.loss.numel() == 10);
  CHECK_THAT(kept.by_sample.loss.mean().item<double>(), WithinRel(plain.loss, 1e-5));
  CHECK_THAT(kept.by_sample.correct.mean().item<double>(), WithinRel(plain.score, 1e-5));
}

TEST_CASE("a window of text is one sample, of the means over its targets") {
  auto logits = torch::zeros({1, 4, 2});
  logits[0].select(1, 0).fill_(1);  // class 0 everywhere
  auto targets = torch::zeros({1, 4}, torch::kInt64);
  targets[0][3].fill_(1);
  const Microbatch text{torch::zeros({1, 4}, torch::kInt64), targets};
  Validation keeping;
  keeping.per_sample = PerSample::kKept;
  const Forward forward = [&](const torch::Tensor&) { return logits; };
  const auto kept = validate(each_of({text}), forward, keeping);
  REQUIRE(kept.by_sample.correct.numel() == 1);
  CHECK(kept.by_sample.correct.item<float>() == 0.75F);
  CHECK_THAT(kept.by_sample.loss.item<double>(), WithinRel(kept.loss, 1e-5));
}

TEST_CASE("batches are fetched outside of inference mode, so that they can be trained on") {
  Bench bench(plain_sgd());
  std::vector<Microbatch> made;
  const NextBatch next = [&]() -> std::optional<Microbatch> {
    if (made.size() == 2) return std::nullopt;
    made.push_back(samples(4));
    return made.back();
  };
  validate(next, [&](const torch::Tensor& x) { return bench.net.forward(x); }, {});
  bench.step(made);
  CHECK(read_metrics(bench.state).samples == 8);
}

TEST_CASE("validation stops between batches on request, and without a batch there is no result") {
  Bench bench(plain_sgd());
  int polls = 0;
  Validation validation;
  validation.should_stop = [&] { return ++polls > 2; };
  const Forward forward = [&](const torch::Tensor& x) { return bench.net.forward(x); };
  const ValidationResult result = validate(each_of(cut(samples(12), {4, 4, 4})), forward, validation);
  CHECK_FALSE(result.complete);
  CHECK(result.samples == 8);
  CHECK(validate(each_of({}), forward, {}).samples == 0);
}

TEST_CASE("averaged parameters stand in for validation only") {
  StepSettings settings = plain_sgd();
  settings.ema_decay = 0.9;
  Bench bench(settings);
  torch::Tensor expected = bench.net.w1.detach().to(torch::kFloat64);
  for (int i = 0; i < 5; ++i) {
    bench.step({samples(8)});
    expected = expected * 0.9 + bench.net.w1.detach().to(torch::kFloat64) * 0.1;
  }
  const auto before = snapshot(bench.state);
  {
    const EmaScope scope(bench.state);
    CHECK(largest_difference(bench.net.w1, expected) < 1e-6);
    CHECK_FALSE(same_bits(bench.net.w1, before.at("host.1.weight")));
  }
  for (const auto& [id, tensor] : snapshot(bench.state)) CHECK(same_bits(tensor, before.at(id)));

  Bench without(plain_sgd());
  const EmaScope scope(without.state);
  CHECK(same_bits(without.net.w1, SmallNet::make().w1));
}

}  // namespace esper::test::validate_test
