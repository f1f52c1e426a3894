#include "tolaria/run/save_schedule.h"

#include <catch2/catch_test_macros.hpp>

#include "leyline/seed_command.h"
#include "support/run_fixture.h"
#include "tolaria/growth/apply_command.h"

namespace esper::test::save_schedule_test {

using namespace esper::tolaria;
using Unit = base::Length::Unit;

namespace {

config::RunConfig saving_every(std::int64_t count, Unit unit) {
  auto config = small_config();
  config.checkpoint.every = {count, unit};
  return config;
}

bool is_due_after_epoch(const SmallRun& it) {
  return is_save_due_after_epoch(it.facts, it.progress, it.model->network);
}

}  // namespace

TEST_CASE("a checkpoint is due with each of so many epochs, and then never within one") {
  SmallRun it(saving_every(2, Unit::kEpochs));
  for (std::uint32_t epoch = 1; epoch <= 4; ++epoch) {
    it.progress.epoch = epoch;
    CHECK(is_due_after_epoch(it) == (epoch % 2 == 0));
  }
  it.progress.step = 2;
  CHECK_FALSE(is_save_due_after_step(it.facts, it.progress));
}

TEST_CASE("a checkpoint is due with each of so many steps, and after an epoch only where a seed grows") {
  SmallRun it(saving_every(3, Unit::kSteps));
  for (std::int64_t step = 1; step <= 6; ++step) {
    it.progress.step = step;
    CHECK(is_save_due_after_step(it.facts, it.progress) == (step % 3 == 0));
  }
  it.progress.epoch = 3;
  CHECK_FALSE(is_due_after_epoch(it));
  apply_command(*it.model, leyline::germination("test-1", "r0c0", "mlp"), it.run.data.probe, 1);
  CHECK(is_due_after_epoch(it));
}

TEST_CASE("with an interval of 0 no checkpoint is due") {
  for (const Unit unit : {Unit::kEpochs, Unit::kSteps}) {
    SmallRun it(saving_every(0, unit));
    apply_command(*it.model, leyline::germination("test-1", "r0c0", "mlp"), it.run.data.probe, 1);
    CHECK_FALSE(is_due_after_epoch(it));
    CHECK_FALSE(is_save_due_after_step(it.facts, it.progress));
  }
}

}  // namespace esper::test::save_schedule_test
