#include "tolaria/state/run_facts.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>

namespace esper::test::run_facts_test {

using tolaria::RunFacts;
using tolaria::RunProgress;

namespace {

RunFacts facts_with(std::int64_t batches, int accumulation) {
  config::RunConfig config;
  config.step.accumulation = accumulation;
  return {
      .config = config, .run_id = "run", .training_hash = "hash", .device = torch::kCPU, .batches_per_epoch = batches};
}

}  // namespace

TEST_CASE("microbatches that are left over at the end of an epoch count as a step") {
  CHECK(facts_with(6, 1).steps_per_epoch() == 6);
  CHECK(facts_with(6, 4).steps_per_epoch() == 2);
  CHECK(facts_with(8, 4).steps_per_epoch() == 2);
  CHECK(facts_with(1, 4).steps_per_epoch() == 1);
}

TEST_CASE("the end of the epoch that a run is in is the same from its first step to its last") {
  const auto facts = facts_with(6, 4);
  RunProgress progress;
  progress.epoch = 3;
  progress.step = 6;
  CHECK(facts.epoch_end(progress) == 8);
  progress.batch = 4;
  progress.step = 7;
  CHECK(facts.epoch_end(progress) == 8);
  progress.batch = 6;
  progress.step = 8;
  CHECK(facts.epoch_end(progress) == 8);
}

TEST_CASE("the learning rate follows the schedule by the run's own epochs") {
  auto facts = facts_with(6, 1);
  facts.config.training.optimizer.lr = 0.5;
  facts.config.training.schedule.kind = config::ScheduleKind::kStep;
  facts.config.training.schedule.step_epochs = 1;
  facts.config.training.schedule.gamma = 0.5;
  CHECK(facts.learning_rate(0) == 0.5);
  CHECK(facts.learning_rate(5) == 0.5);
  CHECK(facts.learning_rate(6) == 0.25);
  CHECK(facts.learning_rate(12) == 0.125);
}

TEST_CASE("a run's time is that of its earlier processes and of this one") {
  const auto time = std::make_shared<base::ManualTime>();
  auto facts = facts_with(6, 1);
  facts.clock = base::Clock(time);
  facts.started = facts.clock.now();
  RunProgress progress;
  progress.wall_s = 10;
  time->advance(std::chrono::milliseconds(2500));
  CHECK(facts.wall_s(progress) == 12.5);
}

}  // namespace esper::test::run_facts_test
