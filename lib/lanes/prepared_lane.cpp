#include "lanes/prepared_lane.h"

#include <algorithm>
#include <chrono>

#include "lanes/lane/failure_text.h"
#include "lanes/lane/recording.h"
#include "lanes/lane/step_external_tensors.h"
#include "lanes/shape/compile_queue.h"
#include "lanes/step_runner.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;

namespace {

using LaneId = config::Lane;
using Batch = std::span<const Microbatch>;
using program::CompileEffort;

PreparedLane refused(LaneId lane, const std::string& reason) { return {lane, {}, 0, {}, reason}; }

// The recipe's package with full effort; compiled first if it is not in the cache.
base::Expected<program::CachedPackage> package_of(const program::SymbolicProgram& program, const std::string& recipe,
                                                  const LaneServices& services) {
  program::CompileService& compile_service = *services.compile_service;
  const Variant variant{recipe, CompileEffort::kFull, compile_service.key(program, recipe)};
  auto cached = compile_service.cache().find(variant.key);
  if (!cached || !has_effort(cached->facts, CompileEffort::kFull)) {
    LaneFigures figures;
    CompileQueue queue(services, figures);
    queue.start(program, variant);
    const auto outcome = queue.wait(variant.key).outcome;
    if (!outcome) return base::failure("the compiler did not finish in time");
    if (outcome->failure) return base::failure(outcome->reason);
    cached = compile_service.cache().find(variant.key);
    if (!cached) return base::failure("the cache lost the program");
  }
  return std::move(*cached);
}

// A runner of its own, run until nothing is left to try. Its steps are counted as in a run, so that the same
// comparisons are made.
PreparedLane settled_runner(Model& model, Batch example, program::CompileService* compile_service,
                            config::StepConfig config) {
  constexpr std::int64_t kLongRun = 1'000'000'000;
  constexpr std::chrono::seconds kLongest{300};
  config.lane = LaneId::kAuto;
  config.compile.dynamic = compile_service != nullptr && compile_service->is_dynamic();
  RunnerServices services;
  services.compile_service = compile_service;
  services.emit = [](auto) {};
  auto runner = std::make_shared<StepRunner>(model, config, model.state.device, std::move(services));
  const StepSnapshot start(model, model.state.device);
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t number = 0;
  do {
    runner->step(example, {number++, kLongRun});
  } while (!runner->settled() && std::chrono::steady_clock::now() - begin < kLongest);
  start.restore();
  if (!runner->settled()) return refused(LaneId::kAuto, "it was still trying lanes after five minutes");
  return {
      LaneId::kAuto, [runner, number](Batch batch) mutable { runner->step(batch, {number++, kLongRun}); }, 0, {}, {}};
}

// What the lane is made of.
struct Source {
  LaneProgram program{};
  std::string recipe{};                             // how the package was lowered
  std::optional<program::CachedPackage> package{};  // owns the file that `program` names
};

base::Expected<Source> source_of(const LaneKind& kind, Model& model, Batch example, const LaneServices& services,
                                 const config::StepConfig& config) {
  program::CompileService* const compile_service = services.compile_service;
  if (!kind.has_program) return Source{};
  if (kind.has_compiler && compile_service == nullptr) return base::failure("there is no Python with torch");
  if (kind.has_compiler && !compile_service->problem().empty()) return base::failure(compile_service->problem());
  const auto forward = step::training_forward(model.network);
  auto recorded = record_undone(model, example, forward, std::max(1, config.compile.warmup_steps));
  if (!recorded) return base::failure(recorded.error());
  Source source{{std::move(*recorded)}};
  if (!kind.has_compiler) return source;
  auto& [program, package] = source.program;
  if (compile_service->is_dynamic()) {
    auto symbolic = record_for_all_sizes(model, example, program.program, forward);
    if (!symbolic) return base::failure("there is no program for all batch sizes: " + symbolic.error());
    program = std::move(*symbolic);
  }
  source.recipe = compile_service->recipes(program).front();
  auto cached = package_of(program, source.recipe, services);
  if (!cached) return base::failure(cached.error());
  source.package = std::move(*cached);
  const std::string key = compile_service->key(program, source.recipe);
  package = PackageFile{source.package->file.path(), key, source.package->mac};
  return source;
}

PreparedLane prepare(Model& model, LaneId id, Batch example, const LaneServices& services,
                     const config::StepConfig& config) {
  if (id == LaneId::kAuto) return settled_runner(model, example, services.compile_service, config);
  const LaneKind& kind = *find_kind(services.kinds, id);
  if (!kind.available(model.state.device)) return refused(id, std::string(kind.needs));
  const auto source = source_of(kind, model, example, services, config);
  if (!source) return refused(id, source.error());
  GraphCapture capture("step", config.graph.warmup_batches, services.emit);
  auto made = make_lane(kind, source->program, model, example, {model.state.device, capture});
  if (!made) return refused(id, made.error().reason);
  if (capture.figures().failures > 0) return refused(id, "its program cannot be captured as a CUDA graph");
  auto lane = std::make_shared<Lane>(std::move(*made));
  return {id, [lane](Batch batch) { lane->run(batch); }, 0, source->recipe, {}};
}

}  // namespace

PreparedLane prepare_lane(Model& model, LaneId lane, Batch example, program::CompileService* compile_service,
                          const config::StepConfig& config, const std::function<void(leyline::TelemetryEvent)>& emit) {
  const auto begin = std::chrono::steady_clock::now();
  LaneServices services;
  services.compile_service = compile_service;
  services.emit = [&emit](const leyline::TelemetryEvent& event) {
    if (event.description == "tolaria.compile_waiting") emit(event);
  };
  PreparedLane prepared;
  try {
    prepared = prepare(model, lane, example, services, config);
  } catch (const std::exception& error) {
    prepared = refused(lane, describe(error));
  }
  prepared.warmup_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  return prepared;
}

}  // namespace esper::lanes
