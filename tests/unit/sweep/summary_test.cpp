#include "sweep/summary.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::test::summary_test {

using namespace esper::sweep;
using Catch::Approx;

namespace {

using State = SeedProgress::State;

Sweep sweep_of(std::size_t configurations, std::vector<std::uint64_t> seeds) {
  Sweep sweep;
  sweep.seeds = std::move(seeds);
  Parameter parameter{"training.optimizer.lr", {}, {}, {}, {}};
  for (std::size_t i = 0; i < configurations; ++i) parameter.values.push_back(std::to_string(i));
  sweep.parameters = {parameter};
  return sweep;
}

ConfigurationProgress done(const std::vector<double>& values) {
  ConfigurationProgress progress;
  for (const double value : values) progress.seeds.push_back({State::kReached, {value}});
  return progress;
}

std::vector<std::size_t> order_of(const Summary& summary) {
  std::vector<std::size_t> order;
  for (const auto& row : summary.rows) order.push_back(row.configuration);
  return order;
}

}  // namespace

TEST_CASE("a row has its parameters, the mean of its seeds and their interval") {
  const auto summary = summarize(sweep_of(1, {7, 8, 9}), std::vector{done({1, 2, 6})});
  const SummaryRow& row = summary.rows[0];
  CHECK(row.parameters.at("training.optimizer.lr") == "0");
  CHECK(row.done == 3);
  CHECK(row.seeds[2].seed == 9);
  CHECK(row.seeds[2].value == 6);
  CHECK(row.mean == Approx(3));
  // Deviation sqrt(7), over sqrt(3), times t(0.975, 2) = 4.302653.
  CHECK(row.half_width.value() == Approx(std::sqrt(7.0 / 3) * 4.302653).epsilon(1e-5));
  CHECK_FALSE(summary.comparison);
}

TEST_CASE("one seed has a mean and no interval") {
  const auto summary = summarize(sweep_of(2, {1}), std::vector{done({1}), done({2})});
  CHECK(summary.rows[0].mean == 2);
  CHECK_FALSE(summary.rows[0].half_width);
  REQUIRE(summary.comparison);
  CHECK(summary.comparison->lead == 1);
  CHECK_FALSE(summary.comparison->low);
  CHECK_FALSE(summary.comparison->excludes_zero);
}

TEST_CASE("the best is compared with the second run by run of the same seed") {
  // Both vary by far more than they differ, but they differ alike.
  const auto summary =
      summarize(sweep_of(3, {1, 2, 3}), std::vector{done({1, 5, 9}), done({1.5, 5.6, 9.4}), done({0, 0, 0})});
  CHECK(order_of(summary) == std::vector<std::size_t>{1, 0, 2});
  CHECK(summary.best == 1);
  const Comparison& comparison = summary.comparison.value();
  CHECK(comparison.second == 0);
  CHECK(comparison.pairs == 3);
  CHECK(comparison.lead == Approx(0.5));
  CHECK(comparison.low.value() == Approx(0.5 - 0.1 / std::sqrt(3.0) * 4.302653).epsilon(1e-5));
  CHECK(comparison.high.value() == Approx(0.5 + 0.1 / std::sqrt(3.0) * 4.302653).epsilon(1e-5));
  CHECK(comparison.excludes_zero);
}

TEST_CASE("a lead that changes its sign from seed to seed does not exclude zero") {
  const auto summary = summarize(sweep_of(2, {1, 2, 3}), std::vector{done({1, 2, 3}), done({3, 2, 2})});
  CHECK(summary.best == 1);
  CHECK_FALSE(summary.comparison->excludes_zero);
  const auto equal = summarize(sweep_of(2, {1, 2}), std::vector{done({1, 2}), done({1, 2})});
  CHECK(equal.best == 0);
  CHECK_FALSE(equal.comparison->excludes_zero);
}

TEST_CASE("where less is better the smallest mean is the best, and its lead positive") {
  Sweep sweep = sweep_of(2, {1, 2});
  sweep.settings.goal = Goal::kMinimize;
  const auto summary = summarize(sweep, std::vector{done({3, 4}), done({1, 2})});
  CHECK(summary.best == 1);
  CHECK(summary.comparison->lead == 2);
  CHECK(summary.comparison->excludes_zero);
}

TEST_CASE("configurations with seeds to come or failures are below those that are complete, however good") {
  ConfigurationProgress running = done({9, 9}), failed = done({9, 9}), diverged = done({9, std::nan("")}), dead;
  running.seeds[1] = {State::kRunning, {}};
  failed.seeds[0] = {State::kFailed, {}};
  dead.seeds.resize(2, {State::kFailed, {}});
  const std::vector progress{dead, failed, ConfigurationProgress{}, running, done({1, 1}), diverged, done({2, 2})};
  const auto summary = summarize(sweep_of(7, {1, 2}), progress);
  CHECK(order_of(summary) == std::vector<std::size_t>{6, 4, 3, 1, 5, 0, 2});
  CHECK(summary.complete == 2);
  CHECK(summary.rows[3].failed == 1);
  CHECK(summary.rows[3].mean == 9);
  CHECK(summary.rows[4].seeds[1].state == SeedFigure::State::kFailed);
  CHECK_FALSE(summary.rows[5].mean);
  CHECK(summary.rows[6].seeds[0].state == SeedFigure::State::kPending);
}

TEST_CASE("no configuration is the best before one is complete") {
  const auto summary = summarize(sweep_of(2, {1, 2}), std::vector<ConfigurationProgress>(2));
  CHECK(summary.complete == 0);
  CHECK_FALSE(summary.best);
  CHECK_FALSE(summary.comparison);
}

TEST_CASE("of halving a row is at the highest rung with all seeds, and only rows of the same rung are compared") {
  Sweep sweep = sweep_of(3, {1, 2});
  sweep.settings.method = Method::kHalving;
  sweep.settings.samples = 3;
  sweep.settings.halving = {1, 2, 4};
  const ConfigurationProgress higher{{{State::kReached, {5, 3}}, {State::kReached, {5, 3}}}, 1};
  const ConfigurationProgress underway{{{State::kReached, {8, 9}}, {State::kRunning, {8}}}, 1};
  const auto summary = summarize(sweep, std::vector{done({9, 9}), higher, underway});
  CHECK(order_of(summary) == std::vector<std::size_t>{1, 0, 2});
  CHECK(summary.rows[0].epochs == 2);
  CHECK(summary.rows[2].epochs == 1);
  CHECK(summary.rows[2].mean == 8);
  CHECK(summary.best == 1);
  CHECK_FALSE(summary.comparison);
}

}  // namespace esper::test::summary_test
