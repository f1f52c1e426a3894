#include "tolaria/evaluation/task_figures.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::test::task_figures_test {

using Catch::Approx;
using config::Metric;
using config::Task;
using step::Prediction;
using tolaria::FigureSums;
using tolaria::MetricValues;
using tolaria::Scoring;
using tolaria::TaskFigures;

namespace {

TaskFigures figures(Task task, const std::vector<Prediction>& parts, double loss = 2) {
  FigureSums sums({task, config::Metric::kAccuracy, {}}, torch::kCPU);
  for (const Prediction& part : parts) sums.add(part);
  return sums.read(loss);
}

// Large where it is to be the largest.
torch::Tensor saying(const std::vector<std::int64_t>& classes, std::int64_t of) {
  return at::one_hot(torch::tensor(classes, torch::kInt64), of).to(torch::kFloat32);
}

}  // namespace

TEST_CASE("classification: the confusion matrix, and precision, recall and F1 of each class") {
  // Class 2 is never meant, class 3 neither meant nor said.
  const Prediction first{saying({0, 0, 1}, 4), torch::tensor({0, 1, 1}, torch::kInt64)};
  const Prediction second{saying({2}, 4), torch::tensor({0}, torch::kInt64)};
  const TaskFigures found = figures(Task::kClassification, {first, second});
  CHECK(found.confusion == std::vector<std::int64_t>{1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  REQUIRE(found.classes.size() == 4);
  CHECK(found.classes[0].precision == 0.5);
  CHECK(found.classes[0].recall == 0.5);
  CHECK(found.classes[1].precision == 1);
  CHECK(found.classes[1].recall == 0.5);
  CHECK(found.classes[1].f1 == Approx(2.0 / 3));
  CHECK(found.classes[1].targets == 2);
  CHECK(found.classes[2].predictions == 1);
  CHECK(found.classes[2].f1 == 0);
  // Means over the three classes that occur.
  CHECK(found.by_metric.at(Metric::kAccuracy) == 0.5);
  CHECK(found.by_metric.at(Metric::kPrecision) == Approx(0.5));
  CHECK(found.by_metric.at(Metric::kRecall) == Approx(1.0 / 3));
  CHECK(found.by_metric.at(Metric::kF1) == Approx((0.5 + 2.0 / 3) / 3));
  CHECK(found.by_metric.at(Metric::kTop5) == 1);
  CHECK(found.by_metric.at(Metric::kLoss) == 2);
}

TEST_CASE("classes beyond what a matrix is kept of, and predictions beyond what waits to be counted") {
  constexpr std::int64_t kClasses = 1500, kRows = 400;
  const torch::Tensor targets = at::arange(kRows).mul(7);
  const torch::Tensor logits =
      at::one_hot(targets.remainder(kClasses).add(at::arange(kRows).remainder(2)), kClasses + 1).to(torch::kFloat32);
  const Prediction all{logits, targets.remainder(kClasses)};
  std::vector<Prediction> parts;
  for (std::int64_t i = 0; i < kRows; i += 100) {
    parts.push_back({all.logits.narrow(0, i, 100), all.targets.narrow(0, i, 100)});
  }
  // Each part is below the limit, two are above it.
  for (Prediction& part : parts) part = {part.logits.repeat({4, 1}), part.targets.repeat({4})};
  const TaskFigures found = figures(Task::kClassification, parts);
  CHECK(found.confusion.empty());
  CHECK(found.classes.size() == kClasses + 1);
  CHECK(found.by_metric.at(Metric::kAccuracy) == 0.5);
  std::int64_t targets_found = 0, said = 0;
  for (const auto& one : found.classes) {
    targets_found += one.targets;
    said += one.predictions;
  }
  CHECK(targets_found == 4 * kRows);
  CHECK(said == 4 * kRows);
}

TEST_CASE("labels: by label, as a mean over labels, and all together") {
  const Prediction two{torch::tensor({{1.0F, -1.0F}, {1.0F, 1.0F}, {-1.0F, 1.0F}}),
                       torch::tensor({{1.0F, 1.0F}, {1.0F, 1.0F}, {1.0F, 0.0F}})};
  const TaskFigures found = figures(Task::kMultilabel, {two});
  REQUIRE(found.classes.size() == 2);
  CHECK(found.classes[0].precision == 1);
  CHECK(found.classes[0].recall == Approx(2.0 / 3));
  CHECK(found.classes[1].precision == 0.5);
  CHECK(found.by_metric.at(Metric::kPrecision) == 0.75);
  CHECK(found.by_metric.at(Metric::kAccuracy) == Approx(1.0 / 3));
  REQUIRE(found.micro);
  CHECK(found.micro->precision == 0.75);
  CHECK(found.micro->recall == Approx(0.6));
  CHECK(found.micro->f1 == Approx(2.0 / 3));
  CHECK(found.confusion.empty());
}

TEST_CASE("regression: MAE and RMSE over all numbers, R2 as a mean over outputs") {
  const Prediction two{torch::tensor({{1.0F, 10.0F}, {3.0F, 20.0F}}), torch::tensor({{2.0F, 10.0F}, {4.0F, 10.0F}})};
  const TaskFigures found = figures(Task::kRegression, {two});
  CHECK((found.by_metric == MetricValues{{Metric::kLoss, 2}, {Metric::kMae, 3}, {Metric::kR2, 0}}));
  CHECK(*found.rmse == Approx(std::sqrt(102.0 / 4)));
  const TaskFigures exact = figures(Task::kRegression, {{two.targets, two.targets}});
  CHECK(exact.by_metric.at(Metric::kR2) == 1);  // also of the output whose targets are all equal
}

TEST_CASE("regression: MAE and RMSE of standardised targets are in the data's units, and R2 is as without") {
  const Prediction two{torch::tensor({{1.0F, 10.0F}, {3.0F, 20.0F}}), torch::tensor({{2.0F, 10.0F}, {4.0F, 10.0F}})};
  FigureSums sums({Task::kRegression, Metric::kR2, {}}, torch::kCPU, {2, 10});
  sums.add(two);
  const TaskFigures found = sums.read(2);
  CHECK((found.by_metric == MetricValues{{Metric::kLoss, 2}, {Metric::kMae, 26}, {Metric::kR2, 0}}));
  CHECK(*found.rmse == Approx(std::sqrt(10008.0 / 4)));
}

TEST_CASE("language: accuracy, top 5 and the exponential of the loss") {
  const TaskFigures found =
      figures(Task::kLanguage, {{saying({0, 0}, 7), torch::tensor({0, 6}, torch::kInt64)}}, std::log(20.0));
  CHECK(found.by_metric.at(Metric::kPerplexity) == Approx(20));
  CHECK(found.by_metric.at(Metric::kAccuracy) == 0.5);
  CHECK(found.by_metric.size() == 4);
  CHECK(found.classes.empty());
}

}  // namespace esper::test::task_figures_test
