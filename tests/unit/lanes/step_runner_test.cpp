#include "lanes/step_runner.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>

#include "base/error.h"
#include "base/interrupt.h"
#include "device/rng.h"
#include "kasmina/network/network_seeds.h"
#include "lanes/prepared_lane.h"
#include "support/models/lane_steps.h"
#include "unit/lanes/compiling_step.h"

namespace esper::test::step_runner_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

constexpr std::int64_t kCheckEvery = 100;

LaneCase tiny() { return lane_cases().front(); }

}  // namespace

TEST_CASE("a run in auto ends with eager's bits while nothing is compiled, whatever lanes were tried") {
  at::set_num_threads(1);
  LaneRun eager(tiny(), Lane::kEager), automatic(tiny(), Lane::kAuto, nullptr, kCheckEvery);
  for (std::uint64_t step = 0; step < 300; ++step) {
    const auto batch = make_batches(tiny(), 1, step);
    const auto number = static_cast<std::int64_t>(step);
    eager.step(batch, number);
    automatic.step(batch, number);
  }
  CHECK(same_bits(*eager.model, *automatic.model));
  CHECK(automatic.steps_in(Lane::kReplay) > 100);
  CHECK_FALSE(automatic.events_named("tolaria.lane_adopted").empty());
  CHECK_FALSE(automatic.events_named("tolaria.compile_fallback").empty());
  CHECK(automatic.figures().checks >= 2);
  CHECK(automatic.figures().checks_failed == 0);
  CHECK(eager.events.empty());
}

TEST_CASE("why compiling is impossible is reported once per run") {
  LaneRun runs(tiny(), Lane::kAuto);
  LaneCase other = tiny();
  for (const std::int64_t batch : {4, 3, 2}) {
    other.batch = batch;
    for (int step = 0; step < 5; ++step) runs.step(make_batches(other, 1), 0);
  }
  const auto events = runs.events_named("tolaria.compile_fallback");
  REQUIRE(events.size() == 1);
  CHECK(events.front().level == leyline::Level::kWarning);
}

TEST_CASE("the selected lane is adopted after one comparison, without a trial") {
  LaneRun eager(tiny(), Lane::kEager), replay(tiny(), Lane::kReplay, nullptr, kCheckEvery);
  const auto batch = make_batches(tiny(), 1);
  for (int step = 0; step < 10; ++step) {
    eager.step(batch, 0);
    replay.step(batch, 0);
  }
  CHECK(same_bits(*eager.model, *replay.model));
  CHECK(replay.steps_in(Lane::kReplay) == 7);  // all but warm-up, recording and comparing
  CHECK(replay.events_named("tolaria.compile_fallback").empty());
}

TEST_CASE("a batch of another size and a step of several microbatches have programs of their own") {
  LaneCase ragged = tiny();
  ragged.batch = 3;
  LaneRun eager(tiny(), Lane::kEager), replay(tiny(), Lane::kReplay, nullptr, kCheckEvery);
  for (std::uint64_t step = 0; step < 30; ++step) {
    auto batch = make_batches(step % 3 == 2 ? ragged : tiny(), step % 5 == 4 ? 2 : 1, step);
    eager.step(batch, 0);
    replay.step(batch, 0);
    REQUIRE(same_bits(*eager.model, *replay.model));
  }
  CHECK(replay.steps_in(Lane::kReplay) == 13 + 5 + 1);  // of 16, 8, 4 and 2 steps of a shape all but the first three
}

TEST_CASE("after a change of structure no program of the former one runs") {
  const LaneCase c = lane_cases()[1];
  LaneRun eager(c, Lane::kEager), replay(c, Lane::kReplay, nullptr, kCheckEvery);
  const auto batch = make_batches(c, 1);
  const auto grow = [&](LaneRun& runs, std::uint32_t epoch) {
    leyline::AdaptationCommand command;
    command.command_id = "c" + std::to_string(epoch);
    command.command_type = leyline::CommandType::kSeed;
    const auto slot = kasmina::export_slots(runs.model->network.state()).front();
    command.seed_operation = {leyline::SeedOperation::kGerminate, slot.slot, slot.blueprints.front(), {}};
    const auto events = runs.model->network.apply(command, batch.front().inputs);
    step::follow_structure(*runs.model);
    return events;
  };
  for (int step = 0; step < 12; ++step) {
    if (step == 6) {
      const auto before = replay.model->network.structure_version();
      grow(eager, 1);
      grow(replay, 1);
      REQUIRE(replay.model->network.structure_version() != before);
    }
    eager.step(batch, 0);
    replay.step(batch, 0);
    REQUIRE(same_bits(*eager.model, *replay.model));
  }
  CHECK(replay.steps_in(Lane::kReplay) == 6);
}

TEST_CASE("steps that are only looked at leave no record in the journal") {
  at::set_num_threads(1);
  const auto model = make_model(tiny());
  config::StepConfig config;
  config.lane = Lane::kReplay;
  std::vector<std::string> records;
  lanes::RunnerServices services;
  services.emit = [](auto) {};
  services.append_record = [&](std::string record) { records.push_back(std::move(record)); };
  lanes::StepRunner runner(*model, config, torch::kCPU, std::move(services));
  for (std::int64_t number = 0; number < 5; ++number) runner.step(make_batches(tiny(), 1), {number, 1000});
  CHECK(records.size() == 1);
  LaneCase shorter = tiny();
  shorter.batch = 3;
  {
    const auto unrecorded = runner.unrecorded();
    runner.step(make_batches(tiny(), 1), {2, 1000});
    runner.step(make_batches(shorter, 1), {3, 1000});
  }
  CHECK(records.size() == 1);
  runner.step(make_batches(shorter, 1), {5, 1000});
  REQUIRE(records.size() == 2);
  CHECK(records.back().find(R"("step":5,)") != std::string::npos);
}

TEST_CASE("a resumed run's step that waits for its program is left to the next process where a signal ends the wait") {
  CompilingStep it;
  const auto batch = make_batches(it.c, 1);
  lanes::ShapeSet shapes;
  const std::string shape = shapes.add(it.model->network.structure_version(), batch).name;
  config::StepConfig config;
  config.lane = Lane::kCompiled;
  std::vector<std::string> records;
  const auto resumed = [&] {
    lanes::RunnerServices services;
    services.compile_service = &it.service;
    services.emit = it.services.emit;
    services.append_record = [&](std::string record) { records.push_back(std::move(record)); };
    services.log.add(shape, {.step = 1, .progress = {lanes::LaneStage::kComparing}});
    return std::make_unique<lanes::StepRunner>(*it.model, config, torch::kCPU, std::move(services));
  };
  const auto untouched = make_model(it.c);
  REQUIRE(same_bits(*untouched, *it.model));
  {
    base::Interrupt interrupt;
    interrupt.begin_saving();
    const auto held = it.hold(it.variant(it.service.recipes(it.recorded).front()).key);
    raise(SIGTERM);
    const auto runner = resumed();
    CHECK_FALSE(runner->step(batch, {2, 1000}));
    CHECK(it.reported("tolaria.compile_started", "key").size() == 1);
    CHECK(it.reported("tolaria.compile_fallback", "error").empty());
    CHECK(runner->figures().steps_in(Lane::kEager) == 0);
  }
  CHECK(records.empty());
  CHECK(same_bits(*untouched, *it.model));

  const auto runner = resumed();  // it gets no program, either, but no signal
  CHECK(runner->step(batch, {2, 1000}));
  CHECK(it.reported("tolaria.compile_fallback", "error") == std::vector<std::string>{"no_python"});
  CHECK(runner->figures().steps_in(Lane::kEager) == 1);
  CHECK_FALSE(same_bits(*untouched, *it.model));
}

TEST_CASE("a CUDA graph is rejected on the CPU, with a remedy") {
  auto model = make_model(tiny());
  config::StepConfig config;
  config.lane = Lane::kGraph;
  try {
    lanes::StepRunner(*model, config, torch::kCPU, {});
    FAIL("not refused");
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kConfig);
    CHECK(std::string(error.what()).find("step.lane: auto") != std::string::npos);
  }
  const auto prepared = lanes::prepare_lane(*model, Lane::kGraph, make_batches(tiny(), 1), nullptr);
  CHECK(prepared.refusal.find("CUDA") != std::string::npos);
}

}  // namespace esper::test::step_runner_test
