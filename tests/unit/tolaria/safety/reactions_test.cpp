#include "tolaria/safety/reactions.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/run_fixture.h"

namespace esper::test::reactions_test {

using tolaria::Emergency;
using tolaria::GoodState;
using tolaria::Reaction;
using tolaria::Reactions;

namespace {

struct ReactingRun {
  explicit ReactingRun(const config::RunConfig& config = small_config()) : it(config) {}

  SmallRun it;
  Emergency emergency{it.facts.config.safety.emergency, it.facts.clock, it.outbox};
  GoodState good_state{it.evaluation, it.progress, it.outbox, emergency, GoodState::TakesSnapshots::kAlways};
  Reactions reactions{it.evaluation, it.progress, good_state, it.saver, it.outbox, emergency};
};

}  // namespace

TEST_CASE("a checkpoint that is still being written counts as one to go back to") {
  ReactingRun run;
  SmallRun& it = run.it;
  CHECK(run.reactions.has_checkpoint_before(0));  // the run's beginning
  CHECK_FALSE(run.reactions.has_checkpoint_before(6));
  it.progress.epoch = 1;
  it.progress.step = 6;
  it.files.hold_calls();
  it.saver.save();
  std::thread disk([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    it.files.release_calls();
  });
  CHECK(run.reactions.has_checkpoint_before(6));
  CHECK_FALSE(run.reactions.has_checkpoint_before(5));
  disk.join();
}

TEST_CASE("a checkpoint whose save does not end in time is not taken for missing") {
  auto config = small_config();
  config.safety.save_deadline = std::chrono::milliseconds(50);
  ReactingRun run(config);
  static const auto disk = run.it.disk;  // the thread that saves is left behind, and outlives the run
  run.it.progress.step = 6;
  run.it.files.hold_calls();
  run.it.saver.save();
  CHECK(run.reactions.has_checkpoint_before(6));
  run.it.files.release_calls();
}

TEST_CASE("a late return counts the failures of its epoch and of those before it, also at the epoch's end") {
  auto config = small_config();
  config.safety.rollback_deadline = {};
  for (const std::int64_t batch : {2, 6}) {
    ReactingRun run(config);
    SmallRun& it = run.it;
    it.progress.epoch = 1;
    it.progress.step = 6;
    run.good_state.take_snapshot();
    it.progress.batch = batch;
    it.progress.step = 6 + batch;
    std::int64_t number = 0;
    for (const std::int64_t step : {7, 11, 12}) it.progress.safety.apply({++number, Reaction::kLowerRate, step, 0.5});
    REQUIRE(run.good_state.rollback("a step went wrong"));
    it.outbox.flush();
    const auto escalated = it.events("tolaria.emergency.escalated");
    REQUIRE(escalated.size() == 1);
    CHECK(escalated[0].attributes.at("streak") == "2");
  }
}

TEST_CASE("a run that is resumed within an epoch that failed, as its journal says, begins at that level") {
  const std::int64_t step = GENERATE(3, 6);  // of the first epoch, of the second
  SmallRun it;
  it.progress.safety.apply({1, Reaction::kLowerRate, step, 0.5});
  it.go();
  auto escalated = it.events("tolaria.emergency.escalated");
  std::erase_if(escalated, [](const auto& event) { return event.attributes.at("reason") != "the last epoch failed"; });
  REQUIRE(escalated.size() == (step == 3 ? 1 : 0));
  if (step == 3) CHECK(escalated[0].attributes.at("streak") == "1");
}

}  // namespace esper::test::reactions_test
