#include "tolaria/state/last_epoch.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::tolaria::last_epoch_test {
namespace {

config::RunConfig with_early_stop(int early_stop_epochs) {
  config::RunConfig config;
  config.epochs = 10;
  config.training.early_stop_epochs = early_stop_epochs;
  return config;
}

RunProgress after(std::uint32_t epochs, std::uint32_t without_better) {
  RunProgress progress;
  progress.epoch = epochs;
  progress.epochs_without_better = without_better;
  return progress;
}

}  // namespace

TEST_CASE("a run's last epoch is that which its configuration names") {
  const auto config = with_early_stop(0);
  CHECK_FALSE(is_last_epoch(config, after(8, 8)));
  CHECK_FALSE(may_be_last_epoch(config, after(8, 8)));
  CHECK(is_last_epoch(config, after(9, 0)));
  CHECK(may_be_last_epoch(config, after(9, 0)));
  CHECK_FALSE(is_last_epoch_over(config, after(9, 0)));
  CHECK(is_last_epoch_over(config, after(10, 0)));
  CHECK_FALSE(should_stop_early(config, after(10, 10)));
}

TEST_CASE("a run ends earlier where validation no longer improves, which shows once an epoch was recorded") {
  const auto config = with_early_stop(3);
  CHECK_FALSE(may_be_last_epoch(config, after(4, 1)));
  CHECK(may_be_last_epoch(config, after(4, 2)));
  CHECK_FALSE(is_last_epoch(config, after(4, 2)));
  CHECK(is_last_epoch(config, after(4, 3)));
  CHECK(should_stop_early(config, after(5, 3)));
  CHECK_FALSE(is_last_epoch_over(config, after(5, 3)));
}

}  // namespace esper::tolaria::last_epoch_test
