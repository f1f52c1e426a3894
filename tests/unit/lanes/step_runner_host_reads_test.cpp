// A step never asks the device for a value: on a GPU that would stop the host until everything queued is done.

#include <catch2/catch_test_macros.hpp>

#include "base/names.h"
#include "lanes/prepared_lane.h"
#include "lanes/step_runner.h"
#include "support/call_counter.h"
#include "support/models/lane_cases.h"

namespace esper::test::step_runner_host_reads_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using test::CallCounter;

TEST_CASE("no step of the eager and replay lanes reads the device, on any network and in any precision") {
  at::set_num_threads(1);
  for (LaneCase c : lane_cases()) {
    c.config.training.clip_norm = 0.5;
    c.config.training.ema_decay = 0.9;
    for (const auto compute : {c.compute, torch::kHalf}) {
      if (compute == torch::kHalf && c.name != "mlp_adamw") continue;
      c.compute = compute;
      for (const Lane lane : {Lane::kEager, Lane::kReplay}) {
        for (const int accumulation : {1, 3}) {
          auto model = make_model(c);
          const auto prepared = lanes::prepare_lane(*model, lane, make_batches(c, accumulation), nullptr);
          CAPTURE(c.name, base::name_of(lane), accumulation, prepared.refusal);
          REQUIRE(prepared.step);
          const auto batches = make_batches(c, accumulation, 5);
          const CallCounter counter;
          for (int step = 0; step < 3; ++step) prepared.step(batches);
          CHECK(CallCounter::host_reads() == 0);
          CHECK(CallCounter::calls() > 0);
        }
      }
    }
  }
}

TEST_CASE("a run's steps read nothing but where a lane is compared with eager") {
  at::set_num_threads(1);
  const LaneCase c = lane_cases().front();
  for (const Lane lane : {Lane::kEager, Lane::kReplay, Lane::kAuto}) {
    auto model = make_model(c);
    config::StepConfig config;
    config.lane = lane;
    config.check_every = 0;
    lanes::StepRunner runner(*model, config, torch::kCPU, {nullptr, nullptr, {}, [](auto) {}});
    const auto batches = make_batches(c, 1);
    int steps_that_read = 0;
    for (std::int64_t step = 0; step < 200; ++step) {
      const CallCounter counter;
      runner.step(batches, {step, 1000});
      steps_that_read += CallCounter::host_reads() > 0 ? 1 : 0;
    }
    CAPTURE(base::name_of(lane));
    CHECK(steps_that_read == runner.figures().checks);
    CHECK(runner.figures().steps_in(lane == Lane::kAuto ? Lane::kReplay : lane) > 50);
  }
}

}  // namespace esper::test::step_runner_host_reads_test
