#include "tolaria/lane.h"

#include <chrono>

#include "leyline/names.h"
#include "tolaria/fast_lane.h"
#include "tolaria/step_roots.h"
#include "tolaria/step_runner.h"

namespace esper::tolaria {
namespace {

using leyline::Lane;
using Batch = std::span<const Microbatch>;

constexpr int kGraphWarmUps = 3;

PreparedLane refused(Lane lane, const std::string& reason) { return {lane, {}, 0, {}, reason}; }

// Of a step whose effects are undone.
std::variant<program::Program, std::string> record_step(Model& model, Batch example, torch::Device device) {
  const StepSnapshot start(model, device);
  const TrainingForward forward = training_forward(model.network);
  const auto step = [&] { train_step(model.state, model.settings, example, forward); };
  step();  // what only the first step makes must not become a part of every step
  auto recorded = program::record(step_roots(model, example), step);
  start.restore();
  return recorded;
}

PreparedLane compiled(Model& model, const program::Program& program, Batch example, torch::Device device,
                      program::CompileDesk& desk) {
  const std::string recipe = desk.recipes(program).front();
  const std::string key = desk.key(program, recipe);
  auto cached = desk.find(key);
  if (!cached || cached->facts.effort != leyline::name_of(program::CompileEffort::kFull)) {
    desk.submit(program, recipe, program::CompileEffort::kFull);
    const auto outcome = desk.wait(key);
    if (!outcome) return refused(Lane::kCompiled, "the compiler gave no answer in time");
    if (outcome->failure) return refused(Lane::kCompiled, outcome->reason);
    cached = desk.find(key);
    if (!cached) return refused(Lane::kCompiled, "the cache lost the program");
  }
  auto lane = std::make_shared<FastLane>(FastLane::compiled(program, model, example, cached->file.path(), key));
  if (desk.mode() == leyline::CompileMode::kReduceOverhead && device.is_cuda()) {
    lane->capture(model, example, device, kGraphWarmUps, std::make_shared<GraphFigures>());
  }
  return {Lane::kCompiled, [lane](Batch batch) { lane->run(batch); }, 0, recipe, {}};
}

// A runner of its own, brought to where it has nothing left to try.
PreparedLane settled_runner(Model& model, Batch example, torch::Device device, program::CompileDesk* desk) {
  constexpr std::int64_t kLongRun = 1'000'000'000;
  constexpr std::chrono::seconds kLongest{300};
  leyline::StepConfig config;
  config.lane = Lane::kAuto;
  config.check_every = 0;
  auto runner = std::make_shared<StepRunner>(model, config, device, RunnerServices{desk, nullptr, {}, [](auto) {}});
  const StepSnapshot start(model, device);
  const auto begin = std::chrono::steady_clock::now();
  do {
    runner->step(example, {0, kLongRun});
  } while (!runner->settled() && std::chrono::steady_clock::now() - begin < kLongest);
  start.restore();
  if (!runner->settled()) return refused(Lane::kAuto, "it was still trying lanes after five minutes");
  return {Lane::kAuto, [runner](Batch batch) { runner->step(batch, {0, kLongRun}); }, 0, {}, {}};
}

PreparedLane prepare(Model& model, Lane lane, Batch example, torch::Device device, program::CompileDesk* desk) {
  if (lane == Lane::kEager) {
    const TrainingForward forward = training_forward(model.network);
    return {
        lane, [&model, forward](Batch batch) { train_step(model.state, model.settings, batch, forward); }, 0, {}, {}};
  }
  if (lane == Lane::kAuto) return settled_runner(model, example, device, desk);
  if (lane == Lane::kGraph && !device.is_cuda()) return refused(lane, "a CUDA graph needs device.kind: cuda");
  if (lane == Lane::kCompiled && desk == nullptr) return refused(lane, "there is no Python with torch");
  if (lane == Lane::kCompiled && !desk->problem().empty()) return refused(lane, desk->problem());
  auto recorded = record_step(model, example, device);
  if (auto* reason = std::get_if<std::string>(&recorded)) return refused(lane, *reason);
  const auto& program = std::get<program::Program>(recorded);
  if (lane == Lane::kCompiled) return compiled(model, program, example, device, *desk);
  auto replay = std::make_shared<FastLane>(FastLane::replay(program, model, example));
  if (lane == Lane::kGraph) replay->capture(model, example, device, kGraphWarmUps, std::make_shared<GraphFigures>());
  return {lane, [replay](Batch batch) { replay->run(batch); }, 0, {}, {}};
}

}  // namespace

PreparedLane prepare_lane(Model& model, Lane lane, Batch example, torch::Device device, program::CompileDesk* desk) {
  const auto begin = std::chrono::steady_clock::now();
  PreparedLane prepared;
  try {
    prepared = prepare(model, lane, example, device, desk);
  } catch (const std::exception& error) {
    prepared = refused(lane, error.what());
  }
  prepared.warmup_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return prepared;
}

}  // namespace esper::tolaria
