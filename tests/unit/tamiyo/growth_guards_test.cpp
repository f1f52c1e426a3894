#include "tamiyo/growth_guards.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

namespace esper::tamiyo::growth_guards_test {
namespace {

TEST_CASE("the shortest life of a seed is the sum of what its gates ask for") {
  config::GrowthConfig growth;
  growth.gates.min_training_epochs = 2;
  growth.gates.min_blending_epochs = 1;
  growth.gates.min_shadow_epochs = 1;
  growth.gates.min_probation_epochs = 1;
  growth.alpha_ticks = 4;
  growth.training = config::SeedTraining::kBlended;
  CHECK(shortest_life(growth) == 5);  // alpha rises from the first epoch on and needs three, then one and one
  growth.training = config::SeedTraining::kStraightThrough;
  CHECK(shortest_life(growth) == 8);  // an epoch of rest, two of training, three of blending, one and one
  growth.training = config::SeedTraining::kShadow;
  CHECK(shortest_life(growth) == 7);  // it trains at once
}

TEST_CASE("too few epochs for a seed, or for the network to gain by it") {
  config::HeuristicConfig config;
  config.min_share_left = 0.5;
  const Horizon horizon{20, 8};
  CHECK(check_horizon(horizon, config, 10));
  CHECK(check_horizon(horizon, config, 11).error() == "9 epochs left < 10, 50 % of the run");
  config.min_share_left = 0;
  CHECK(check_horizon(horizon, config, 19));
  CHECK(check_horizon(horizon, config, 20).error() == "the run is over");
  config.min_share_left = 0.5;
  CHECK(check_horizon(horizon, config, 13).error() == "7 epochs left, and a seed needs 8 to become part of the host");
}

TEST_CASE("a network that fits its training data, or generalises badly, does not lack capacity") {
  config::HeuristicConfig config;
  config.max_training_accuracy = 98;
  config.max_gap_points = 10;
  leyline::Observation seen;
  seen.validation_accuracy = 0.8;
  CHECK(check_capacity(seen, config));  // not measured
  seen.training_metrics["accuracy"] = 0.9;
  CHECK(check_capacity(seen, config));
  seen.training_metrics["accuracy"] = 0.91;
  CHECK(check_capacity(seen, config).error() ==
        "it generalises badly: training accuracy is 11 points above validation accuracy (allowed 10)");
  seen.training_metrics["accuracy"] = 0.985;
  CHECK(check_capacity(seen, config).error() == "the training data are fitted: training accuracy 98.5 % > 98 %");
}

leyline::Observation with_loss(double loss) {
  leyline::Observation seen;
  seen.validation_loss = loss;
  return seen;
}

TEST_CASE("a loss that stands out of the last epochs is no time to grow") {
  const std::vector<double> losses{1.0, 1.1, 0.9, 1.0};
  CHECK(check_outlier(losses, with_loss(1.2)));
  CHECK(check_outlier(losses, with_loss(0.2)));
  CHECK(check_outlier(losses, with_loss(1.3)).error() ==
        "validation loss 1.3 stands out from the last 4 epochs (1 +- 0.082)");
  CHECK(check_outlier(std::vector{1.0, 1.1}, with_loss(5)));  // too few to know their spread
}

TEST_CASE("a loss that is not shown to be higher does not stand out") {
  const std::vector<double> losses{1.0, 1.1, 0.9, 1.0};
  auto seen = with_loss(1.3);
  seen.validation_changes = {{.after = 1, .before = 4, .loss = 0.3, .loss_error = base::StandardError{0.2, 100}}};
  CHECK(check_outlier(losses, seen));
  seen.validation_changes[0].loss_error->value = 0.1;
  CHECK_FALSE(check_outlier(losses, seen));
}

TEST_CASE("the guards are asked in order, and a run that ends early is over") {
  config::HeuristicConfig config;
  const Horizon horizon{100, 8};
  auto seen = with_loss(1.3);
  seen.current_epoch = 10;
  const std::vector<double> losses{1.0, 1.1, 0.9, 1.0};
  CHECK(check_guards({seen, config, horizon, {}}));
  CHECK(check_guards({seen, config, horizon, losses}).error().find("stands out") != std::string::npos);
  seen.training_metrics["accuracy"] = 1;
  CHECK(check_guards({seen, config, horizon, losses}).error().find("fitted") != std::string::npos);
  seen.is_last = true;
  CHECK(check_guards({seen, config, horizon, losses}).error() == "the run is over");
}

}  // namespace
}  // namespace esper::tamiyo::growth_guards_test
