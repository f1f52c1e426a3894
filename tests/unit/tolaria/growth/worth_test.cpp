#include "tolaria/growth/worth.h"

#include <torch/types.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "kasmina/network/network_seeds.h"
#include "support/run_fixture.h"

namespace esper::test::worth_test {

using tolaria::compare_with_controls;
using tolaria::ControlRecord;
using tolaria::describe_seeds;
using tolaria::SampleFigures;
using tolaria::SeedControl;
using tolaria::worth_of;

namespace {

using Catch::Approx;

torch::Tensor row(const std::vector<float>& values) { return torch::tensor(values); }

// A small network with a seed that has just germinated.
struct WithSeed {
  SmallRun it;
  ControlRecord record;

  WithSeed() {
    leyline::Observation seen;
    seen.slots = kasmina::export_slots(it.model->network.state());
    it.model->network.apply(germination(seen), it.run.data.probe);
    auto& control = record.seeds["seed-0001"];
    control.loss = torch::ones({2, 4});
    control.correct = at::stack({row({1, 0, 1, 0}), row({1, 1, 1, 1})});
    control.learning_rates = {0.1, 0.05};
  }
  std::map<std::string, leyline::SeedWorth> compare(const torch::Tensor& loss, const torch::Tensor& correct) {
    const auto control = record.seeds.find("seed-0001");
    const bool is_there = control != record.seeds.end();
    return compare(loss, correct, is_there ? control->second.learning_rates.at(control->second.compared) : 0);
  }
  std::map<std::string, leyline::SeedWorth> compare(const torch::Tensor& loss, const torch::Tensor& correct,
                                                    double learning_rate) {
    return compare_with_controls(record, it.model->network, {{loss, correct}, learning_rate});
  }
};

}  // namespace

TEST_CASE("worth is the paired difference over samples with its standard error") {
  WithSeed t;
  const auto before = t.record.seeds.at("seed-0001").loss;
  const auto worth = t.compare(row({0.5, 0.7, 0.9, 1.1}), row({1, 1, 1, 1})).at("seed-0001");
  CHECK(worth.epochs == 1);
  CHECK(worth.horizon == 2);
  CHECK(worth.is_pending());
  CHECK(*worth.loss == Approx(0.2));
  CHECK(*worth.loss_stderr == Approx(std::sqrt(0.2 / 3) / 2));  // of 0.5, 0.3, 0.1, -0.1
  CHECK(*worth.points == Approx(50));
  CHECK(*worth.points_stderr == Approx(100 * std::sqrt(1.0 / 3) / 2));
  constexpr double kStudent = 3.182446305284263;  // scipy.stats.t.ppf(0.975, 3)
  CHECK(*worth.loss_half_width == Approx(kStudent * *worth.loss_stderr));
  CHECK(*worth.points_half_width == Approx(kStudent * *worth.points_stderr));
  CHECK(*bounds_of(worth).loss_lower == Approx(0.2 - *worth.loss_half_width));
  CHECK(before.equal(torch::ones({2, 4})));  // a checkpoint may still hold it
}

TEST_CASE("a network that equals its control is worth exactly nothing") {
  WithSeed t;
  const auto worth = t.compare(torch::ones({4}), row({1, 0, 1, 0})).at("seed-0001");
  CHECK(worth.loss == 0);
  CHECK(worth.loss_stderr == 0);
  CHECK(worth.points == 0);
  CHECK(worth.points_stderr == 0);
  CHECK(worth.loss_half_width == 0);
}

TEST_CASE("where no prediction differs the interval in points is that of the rule of three") {
  SeedControl control;
  control.loss = torch::rand({1, 150});
  control.correct = torch::zeros({1, 150});
  control.compared = 1;
  CHECK(*worth_of(control).points_half_width == Approx(2));  // 3 of 150
  control.correct[0][7] = 1;  // one prediction that differs says little more: 1.96 standard errors are 1.3
  CHECK(*worth_of(control).points_half_width == Approx(2));
  control.loss = torch::rand({1, 1});
  control.correct = torch::zeros({1, 1});
  CHECK_FALSE(worth_of(control).points_half_width);
  CHECK_FALSE(worth_of(control).loss_half_width);
}

TEST_CASE("a harmful seed's worth is below zero, and its control is dropped after the last epoch") {
  WithSeed t;
  t.compare(row({9, 8, 9, 8}), torch::zeros({4}));
  const auto worth = t.compare(row({9, 8, 9, 8}), torch::zeros({4})).at("seed-0001");
  CHECK(worth.is_complete());
  CHECK_FALSE(worth.is_pending());
  CHECK(*bounds_of(worth).loss_upper < 0);
  CHECK(*worth.points == Approx(-100));
  CHECK(t.record.seeds.empty());
  CHECK(t.compare({}, {}).empty());
}

TEST_CASE("the later half of the epochs counts, so that no single one does for long") {
  SeedControl control;
  control.loss =
      at::stack({torch::full({4}, -9.0F), torch::full({4}, 1.0F), torch::full({4}, 3.0F), torch::full({4}, 7.0F)});
  control.correct = torch::zeros({4, 4});
  const auto after = [&](std::uint32_t compared) {
    control.compared = compared;
    return *worth_of(control).loss;
  };
  CHECK(after(1) == -9);
  CHECK(after(2) == 1);
  CHECK(after(3) == 3);
  CHECK(after(4) == 5);
  control.compared = 0;
  CHECK_FALSE(worth_of(control).loss);
  CHECK(worth_of(control).is_pending());
}

TEST_CASE("other seeds than the control had end the comparison at its last value") {
  WithSeed t;
  const auto first = t.compare(torch::zeros({4}), row({1, 0, 1, 0})).at("seed-0001");
  leyline::Observation seen;
  seen.current_epoch = 1;
  auto second = leyline::germination("another", kasmina::export_slots(t.it.model->network.state()).back().slot,
                                     kasmina::export_slots(t.it.model->network.state()).back().blueprints.front());
  t.it.model->network.apply(second, t.it.run.data.probe);
  REQUIRE(describe_seeds(t.it.model->network, "seed-0001").starts_with("seed-0002 GERMINATED 0"));
  const auto worth = t.compare(torch::full({4}, 99.0F), torch::zeros({4})).at("seed-0001");
  CHECK(worth.confounded);
  CHECK_FALSE(worth.is_pending());
  CHECK(worth.epochs == 1);
  CHECK(worth.loss == first.loss);
  CHECK(t.record.seeds.empty());
}

TEST_CASE("another learning rate than the control had ends the comparison at its last value") {
  WithSeed t;
  const auto first = t.compare(torch::zeros({4}), row({1, 0, 1, 0}), 0.1 * (1 + 1e-15)).at("seed-0001");
  CHECK(first.epochs == 1);
  const auto worth = t.compare(torch::full({4}, 99.0F), torch::zeros({4}), 0.01).at("seed-0001");
  CHECK(worth.confounded);
  CHECK(worth.epochs == 1);
  CHECK(worth.loss == first.loss);
  CHECK(t.record.seeds.empty());

  WithSeed earlier;  // a checkpoint of an earlier version does not say which rate its control had
  earlier.record.seeds.at("seed-0001").learning_rates.clear();
  CHECK_FALSE(earlier.compare(torch::zeros({4}), torch::zeros({4}), 0.01).at("seed-0001").confounded);
}

TEST_CASE("the control of a seed that is gone is dropped without a word") {
  WithSeed t;
  t.it.model->network.apply(leyline::seed_command("away", leyline::SeedOperation::kCull, "seed-0001"),
                            t.it.run.data.probe);
  CHECK(t.compare(torch::zeros({4}), torch::zeros({4})).empty());
  CHECK(t.record.seeds.empty());
}

}  // namespace esper::test::worth_test
