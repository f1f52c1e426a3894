#include "config/facts/metric_facts.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::test::metric_facts_test {

using namespace esper::config;

TEST_CASE("less is better of losses and errors, more of the others, by more than the difference asked for") {
  CHECK(is_better(Metric::kLoss, 1, 2));
  CHECK_FALSE(is_better(Metric::kLoss, 2, 2));
  CHECK_FALSE(is_better(Metric::kMae, 1.5, 2, 0.5));
  CHECK(is_better(Metric::kPerplexity, 1.4, 2, 0.5));
  CHECK(is_better(Metric::kAccuracy, 0.9, 0.8));
  CHECK_FALSE(is_better(Metric::kR2, 0.9, 0.8, 0.2));
}

TEST_CASE("what was not measured is beaten by anything that was, and beats nothing") {
  const double unknown = std::nan("");
  CHECK(is_better(Metric::kF1, 0, unknown));
  CHECK_FALSE(is_better(Metric::kF1, unknown, 0));
  CHECK_FALSE(is_better(Metric::kLoss, unknown, unknown));
}

TEST_CASE("every task has a loss, and its primary metrics are among its figures and better the larger they are") {
  for (const Task task : {Task::kClassification, Task::kMultilabel, Task::kRegression, Task::kLanguage}) {
    CHECK_FALSE(losses_of(task).empty());
    REQUIRE_FALSE(primary_metrics_of(task).empty());
    CHECK(metrics_of(task).front() == Metric::kLoss);
    for (const Metric metric : primary_metrics_of(task)) {
      CHECK(std::ranges::count(metrics_of(task), metric) == 1);
      CHECK_FALSE(is_less_better(metric));
    }
  }
}

}  // namespace esper::test::metric_facts_test
