#include "tolaria/safety/reactions.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "support/run_fixture.h"

namespace esper::test::reactions_test {

using tolaria::Emergency;
using tolaria::GoodState;
using tolaria::Reactions;

namespace {

struct ReactingRun {
  explicit ReactingRun(const config::RunConfig& config = small_config()) : it(config) {}

  SmallRun it;
  Emergency emergency{it.facts.config.safety.emergency, it.facts.clock, it.outbox};
  GoodState good_state{it.evaluation, it.progress, it.outbox, emergency, GoodState::TakesSnapshots::kAlways};
  Reactions reactions{it.facts, it.model->settings, it.progress, good_state, it.saver, it.outbox, emergency};
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
  run.it.progress.step = 6;
  run.it.files.hold_calls();
  run.it.saver.save();
  CHECK(run.reactions.has_checkpoint_before(6));
  run.it.files.release_calls();
}

}  // namespace esper::test::reactions_test
