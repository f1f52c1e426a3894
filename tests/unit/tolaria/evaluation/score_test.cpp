#include "tolaria/evaluation/score.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace esper::test::score_test {

using Catch::Approx;
using config::Metric;
using config::Task;
using step::Prediction;
using tolaria::PerSample;
using tolaria::Score;
using tolaria::ScoreSums;
using tolaria::Scoring;

namespace {

constexpr std::int64_t kSamples = 60;

// Of five classes, of which the last is never said and the fourth never meant.
Prediction classes() {
  const torch::Tensor targets = at::arange(kSamples).mul(7).remainder(5);
  const torch::Tensor logits = at::arange(kSamples * 5, torch::kFloat32).mul(12.9898).sin().reshape({kSamples, 5});
  logits.add_(at::one_hot(targets, 5), 0.7).select(1, 4).sub_(9);
  return {logits, targets.where(targets.ne(3), at::zeros_like(targets))};
}

Prediction labels() {
  const torch::Tensor targets = at::arange(kSamples * 4).mul(7).remainder(3).eq(0).to(torch::kFloat32);
  const torch::Tensor logits = at::arange(kSamples * 4, torch::kFloat32).mul(12.9898).sin().add(targets, 0.8).sub(0.4);
  return {logits.reshape({kSamples, 4}), targets.reshape({kSamples, 4})};
}

Prediction numbers() {
  const torch::Tensor targets = at::arange(kSamples * 2, torch::kFloat32).mul(3.7).sin().mul(40).add(100);
  return {targets.add(at::arange(kSamples * 2, torch::kFloat32).mul(9.1).cos(), 9).reshape({kSamples, 2}),
          targets.reshape({kSamples, 2})};
}

Score score(const Scoring& scoring, const Prediction& prediction, const std::vector<std::int64_t>& sizes) {
  ScoreSums sums(scoring, 1, PerSample::kKept, torch::kCPU);
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    sums.add({prediction.logits.narrow(0, begin, size), prediction.targets.narrow(0, begin, size)}, size);
    begin += size;
  }
  return sums.read().front();
}

// The definition, with a weight for each sample.
double figure_by_hand(const Scoring& scoring, const Prediction& prediction, const torch::Tensor& weights) {
  const bool of_labels = scoring.task == Task::kMultilabel;
  const torch::Tensor said =
      of_labels ? prediction.logits.gt(0) : at::one_hot(prediction.logits.argmax(1), 5).to(torch::kBool);
  const torch::Tensor is = of_labels ? prediction.targets.gt(0) : at::one_hot(prediction.targets, 5).to(torch::kBool);
  double sum = 0;
  int count = 0;
  for (std::int64_t i = 0; i < said.size(1); ++i) {
    const torch::Tensor p = said.select(1, i), t = is.select(1, i);
    const auto weight_of = [&](const torch::Tensor& which) { return weights.mul(which).sum().item<double>(); };
    const double hits = weight_of(p.logical_and(t)), predictions = weight_of(p), targets = weight_of(t);
    if (predictions + targets == 0) continue;
    ++count;
    const double precision = predictions > 0 ? hits / predictions : 0, recall = targets > 0 ? hits / targets : 0;
    if (scoring.metric == Metric::kPrecision) sum += precision;
    if (scoring.metric == Metric::kRecall) sum += recall;
    if (scoring.metric == Metric::kF1) sum += hits > 0 ? 2 * precision * recall / (precision + recall) : 0;
  }
  return sum / count;
}

double mean_of(const Score& score) { return score.by_sample.to(torch::kFloat64).mean().item<double>(); }

}  // namespace

TEST_CASE(
    "precision, recall and F1 are their definition, whatever the batches, and the samples' figures their slopes") {
  const Task task = GENERATE(Task::kClassification, Task::kMultilabel);
  const Metric metric = GENERATE(Metric::kPrecision, Metric::kRecall, Metric::kF1);
  const Scoring scoring{task, metric, {}};
  const Prediction prediction = task == Task::kMultilabel ? labels() : classes();
  const torch::Tensor weights = at::ones({kSamples}, torch::kFloat64);
  const double expected = figure_by_hand(scoring, prediction, weights);
  const Score whole = score(scoring, prediction, {kSamples});
  CHECK(whole.value == Approx(expected).epsilon(1e-12));
  CHECK(expected > 0.3);
  CHECK(expected < 0.95);
  CHECK(score(scoring, prediction, {7, 13, 40}).value == whole.value);
  CHECK(mean_of(whole) == Approx(expected).epsilon(1e-6));
  for (const std::int64_t sample : {0, 17, 59}) {
    constexpr double kStep = 1e-6;
    torch::Tensor heavier = weights.clone();
    heavier[sample] += kStep;
    const double slope = (figure_by_hand(scoring, prediction, heavier) - expected) / kStep;
    CHECK(whole.by_sample[sample].item<double>() - expected == Approx(kSamples * slope).margin(1e-4));
  }
}

TEST_CASE("R2 is the mean over outputs of one minus squared error over variance, by sample and as a whole") {
  const Scoring scoring{Task::kRegression, Metric::kR2, {}};
  const Prediction prediction = numbers();
  const torch::Tensor error = prediction.logits.sub(prediction.targets).to(torch::kFloat64).square().sum(0);
  const torch::Tensor spread = prediction.targets.to(torch::kFloat64).var(0, false).mul(kSamples);
  const double expected = error.div(spread).neg().add(1).mean().item<double>();
  const Score found = score(scoring, prediction, {20, 40});
  CHECK(found.value == Approx(expected).epsilon(1e-9));
  CHECK(mean_of(found) == Approx(expected).epsilon(1e-6));
  CHECK(found.by_sample.numel() == kSamples);
}

TEST_CASE("an R2 below zero scores 0, and an output whose targets are all equal counts where it is met exactly") {
  const Scoring scoring{Task::kRegression, Metric::kR2, {}};
  const Prediction bad{torch::tensor({{9.0F}, {-9.0F}}), torch::tensor({{1.0F}, {2.0F}})};
  CHECK(score(scoring, bad, {2}).value == 0);
  CHECK(mean_of(score(scoring, bad, {2})) < 0);
  const Prediction constant{torch::tensor({{3.0F}, {4.0F}}), torch::tensor({{3.0F}, {3.0F}})};
  CHECK(score(scoring, constant, {2}).value == 0.5);
}

TEST_CASE("top 5 and the accuracy of labels") {
  const torch::Tensor logits =
      torch::tensor({{6.0F, 5.0F, 4.0F, 3.0F, 2.0F, 1.0F}, {6.0F, 5.0F, 4.0F, 3.0F, 2.0F, 1.0F}});
  const torch::Tensor targets = torch::tensor({4, 5}, torch::kInt64);
  const Score top = score({Task::kClassification, Metric::kTop5, {}}, {logits, targets}, {1, 1});
  CHECK(top.value == 0.5);
  CHECK(top.by_sample.equal(torch::tensor({1.0F, 0.0F})));
  const Prediction two{torch::tensor({{1.0F, -1.0F}, {1.0F, 1.0F}}), torch::tensor({{1.0F, 0.0F}, {1.0F, 0.0F}})};
  CHECK(score({Task::kMultilabel, Metric::kAccuracy, {}}, two, {2}).value == 0.5);
}

TEST_CASE("several configurations of a network are scored side by side") {
  const Prediction prediction = classes();
  const Scoring scoring{Task::kClassification, GENERATE(Metric::kF1, Metric::kAccuracy), {}};
  const torch::Tensor worse = prediction.logits.roll(1, 1);
  ScoreSums sums(scoring, 2, PerSample::kKept, torch::kCPU);
  for (const auto& [begin, size] : {std::pair<std::int64_t, std::int64_t>{0, 20}, {20, 40}}) {
    const auto part = [&](const torch::Tensor& all) { return all.narrow(0, begin, size); };
    sums.add({at::cat({part(prediction.logits), part(worse)}), part(prediction.targets).repeat({2})}, size);
  }
  const auto scores = sums.read();
  REQUIRE(scores.size() == 2);
  const Score first = score(scoring, prediction, {kSamples}),
              second = score(scoring, {worse, prediction.targets}, {kSamples});
  CHECK(scores[0].value == first.value);
  CHECK(scores[1].value == second.value);
  CHECK(first.value != second.value);
  CHECK(scores[1].by_sample.equal(second.by_sample));
}

}  // namespace esper::test::score_test
