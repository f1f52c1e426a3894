#include "lanes/lane.h"

#include <algorithm>
#include <chrono>

#include "base/names.h"
#include "lanes/compile_wait.h"
#include "lanes/fast_lane.h"
#include "lanes/step_roots.h"
#include "lanes/step_runner.h"
#include "lanes/step_sizes.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;
using step::train_step;
using step::training_forward;
using step::TrainingForward;

namespace {

using config::Lane;
using Batch = std::span<const Microbatch>;

PreparedLane refused(Lane lane, const std::string& reason) { return {lane, {}, 0, {}, reason}; }

// What everything here needs.
struct Room {
  Model& model;
  Batch example;
  torch::Device device;
  program::CompileDesk* desk;
  const config::StepConfig& config;
  const std::function<void(leyline::TelemetryEvent)>& tell;
};

void capture(FastLane& lane, const Room& room) {
  lane.capture(room.model, room.example, room.device, room.config.graph.warmup_batches,
               std::make_shared<GraphFigures>());
}

PreparedLane compiled(const Room& room, const program::SymbolicProgram& program) {
  program::CompileDesk& desk = *room.desk;
  const std::string recipe = desk.recipes(program).front();
  const std::string key = desk.key(program, recipe);
  auto cached = desk.find(key);
  if (!cached || cached->facts.effort != base::name_of(program::CompileEffort::kFull)) {
    desk.submit(program, recipe, program::CompileEffort::kFull);
    const auto outcome = wait_for_program({.desk = &desk, .tell = room.tell}, key).outcome;
    if (!outcome) return refused(Lane::kCompiled, "the compiler gave no answer in time");
    if (outcome->failure) return refused(Lane::kCompiled, outcome->reason);
    cached = desk.find(key);
    if (!cached) return refused(Lane::kCompiled, "the cache lost the program");
  }
  auto lane =
      std::make_shared<FastLane>(FastLane::compiled(program, room.model, room.example, cached->file.path(), key));
  if (desk.mode() == config::CompileMode::kReduceOverhead && room.device.is_cuda()) capture(*lane, room);
  return {Lane::kCompiled, [lane](Batch batch) { lane->run(batch); }, 0, recipe, {}};
}

PreparedLane compiled_for_all_sizes(const Room& room, const program::Program& recorded) {
  const auto symbolic = record_for_all_sizes(room.model, room.example, recorded, training_forward(room.model.network));
  if (!symbolic) {
    return refused(Lane::kCompiled, "there is no program for all batch sizes: " + symbolic.error());
  }
  return compiled(room, *symbolic);
}

// A runner of its own, brought to where it has nothing left to try. Its steps are counted as in a run, so that the
// comparisons that a run pays for are paid for.
PreparedLane settled_runner(const Room& room) {
  constexpr std::int64_t kLongRun = 1'000'000'000;
  constexpr std::chrono::seconds kLongest{300};
  config::StepConfig config = room.config;
  config.lane = Lane::kAuto;
  config.compile.dynamic = room.desk != nullptr && room.desk->is_dynamic();
  auto runner = std::make_shared<StepRunner>(room.model, config, room.device,
                                             RunnerServices{room.desk, nullptr, {}, [](auto) {}});
  const StepSnapshot start(room.model, room.device);
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t number = 0;
  do {
    runner->step(room.example, {number++, kLongRun});
  } while (!runner->settled() && std::chrono::steady_clock::now() - begin < kLongest);
  start.restore();
  if (!runner->settled()) return refused(Lane::kAuto, "it was still trying lanes after five minutes");
  return {Lane::kAuto, [runner, number](Batch batch) mutable { runner->step(batch, {number++, kLongRun}); }, 0, {}, {}};
}

PreparedLane prepare(const Room& room, Lane lane) {
  const auto& [model, example, device, desk, config, tell] = room;
  if (lane == Lane::kEager) {
    const TrainingForward forward = training_forward(model.network);
    return {lane,
            [&model = room.model, forward](Batch batch) { train_step(model.state, model.settings, batch, forward); },
            0,
            {},
            {}};
  }
  if (lane == Lane::kAuto) return settled_runner(room);
  if (lane == Lane::kGraph && !device.is_cuda()) return refused(lane, "a CUDA graph needs device.kind: cuda");
  if (lane == Lane::kCompiled && desk == nullptr) return refused(lane, "there is no Python with torch");
  if (lane == Lane::kCompiled && !desk->problem().empty()) return refused(lane, desk->problem());
  const auto recorded = record_undone(room.model, example, training_forward(room.model.network),
                                      std::max(1, config.compile.warmup_steps));
  if (!recorded) return refused(lane, recorded.error());
  const program::Program& program = *recorded;
  if (lane == Lane::kCompiled && desk->is_dynamic()) return compiled_for_all_sizes(room, program);
  if (lane == Lane::kCompiled) return compiled(room, program);
  auto replay = std::make_shared<FastLane>(FastLane::replay(program, model, example));
  if (lane == Lane::kGraph) capture(*replay, room);
  return {lane, [replay](Batch batch) { replay->run(batch); }, 0, {}, {}};
}

}  // namespace

PreparedLane prepare_lane(Model& model, Lane lane, Batch example, torch::Device device, program::CompileDesk* desk,
                          const config::StepConfig& config, const std::function<void(leyline::TelemetryEvent)>& tell) {
  const auto begin = std::chrono::steady_clock::now();
  PreparedLane prepared;
  try {
    prepared = prepare({model, example, device, desk, config, tell}, lane);
  } catch (const std::exception& error) {
    prepared = refused(lane, error.what());
  }
  prepared.warmup_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return prepared;
}

}  // namespace esper::lanes
