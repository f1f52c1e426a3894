#include "tolaria/evaluation/host_counts.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tolaria/evaluation/task_figures.h"

namespace esper::test::host_counts_test {

using Catch::Approx;
using config::Task;
using step::Prediction;
using tolaria::TaskFigures;

namespace {

constexpr std::int64_t kSamples = 50, kFew = 7, kMany = 70;

// Of as many outputs; those from kFew on are never said and never meant.
Prediction prediction(Task task, std::int64_t outputs) {
  const auto numbers = [&](double factor) {
    return at::arange(kSamples * kFew, torch::kFloat32).mul(factor).sin().reshape({kSamples, kFew});
  };
  const torch::Tensor logits = at::constant_pad_nd(numbers(12.9898), {0, outputs - kFew}, -9);
  if (task == Task::kMultilabel)
    return {logits, at::constant_pad_nd(numbers(3.3).gt(0).to(torch::kFloat32), {0, outputs - kFew}, 0)};
  if (task == Task::kRegression) return {logits, at::constant_pad_nd(numbers(3.3), {0, outputs - kFew}, -9)};
  return {logits, at::arange(kSamples).mul(3).remainder(kFew)};
}

TaskFigures figures(Task task, std::int64_t outputs) {
  tolaria::FigureSums sums({task, config::Metric::kAccuracy, {}}, torch::kCPU);
  sums.add(prediction(task, outputs));
  return sums.read(1);
}

}  // namespace

TEST_CASE("loops over few outputs count as operators over many do") {
  const Task task = GENERATE(Task::kClassification, Task::kMultilabel, Task::kLanguage);
  CHECK(tolaria::counts_on_host(prediction(task, kFew)));
  CHECK_FALSE(tolaria::counts_on_host(prediction(task, kMany)));
  const TaskFigures few = figures(task, kFew), many = figures(task, kMany);
  CHECK((few.by_metric == many.by_metric));
  for (std::size_t i = 0; i < few.classes.size(); ++i) {
    CHECK(few.classes[i].f1 == many.classes[i].f1);
    CHECK(few.classes[i].targets == many.classes[i].targets);
    CHECK(few.classes[i].predictions == many.classes[i].predictions);
  }
  for (std::size_t i = 0; i < few.confusion.size(); ++i) {
    CHECK(few.confusion[i] == many.confusion[i / kFew * kMany + i % kFew]);
  }
}

TEST_CASE("errors are summed by output in loops as by operators") {
  const TaskFigures few = figures(Task::kRegression, kFew), many = figures(Task::kRegression, kMany);
  const double met = kMany - kFew;  // outputs whose targets are all equal, and met
  CHECK(many.by_metric.at(config::Metric::kR2) * kMany - met ==
        Approx(few.by_metric.at(config::Metric::kR2) * kFew).epsilon(1e-9));
  CHECK(many.by_metric.at(config::Metric::kMae) * kMany == Approx(few.by_metric.at(config::Metric::kMae) * kFew));
}

}  // namespace esper::test::host_counts_test
