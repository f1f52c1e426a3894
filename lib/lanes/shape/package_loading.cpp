#include "lanes/shape/package_loading.h"

#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {

using program::CompileEffort;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

}  // namespace

base::Expected<CachedLane, LaneFailure> load_cached(const LaneContext& context, LaneFailures& failures,
                                                    const program::SymbolicProgram& program, const std::string& key,
                                                    std::span<const step::Microbatch> example, Absence absence) {
  program::CompileService& compile_service = *context.services.compile_service;
  const auto begin = context.services.clock.now();
  const auto cached = compile_service.cache().find(key);
  if (!cached) {
    if (const auto& damage = cached.error(); !damage.empty()) {
      failures.report_damaged(damage);
    } else if (absence == Absence::kLoss) {
      failures.report_unusable("the cache no longer has the compiled program " + key +
                               ": it was evicted (step.compile.cache_limit_mb), or cannot be read now");
    }
    return base::failure(LaneFailure{.reason = "the cache does not have the package"});
  }
  const bool full = has_effort(cached->facts, CompileEffort::kFull);
  const LaneProgram source{program, PackageFile{cached->file.path(), key, cached->mac}};
  auto lane = make_lane(*context.kind(config::Lane::kCompiled), source, context.model, example, context.setup());
  if (!lane) {
    if (lane.error().cause == LaneFailure::Cause::kPackage) {
      ++context.figures.quarantined;
      compile_service.cache().quarantine(key, program::EntryFault::kFailed, lane.error().reason, cached->mac);
    }
    failures.report_unusable(lane.error().reason);
    return base::failure(lane.error());
  }
  const double load_ms = base::milliseconds(context.services.clock.now() - begin);
  context.emit(event("tolaria.compile_cache_hit"_event, Level::kInfo,
                     {{"key", key}, {"load_ms", base::format_significant(load_ms, 4)}}));
  return CachedLane{std::move(*lane), full ? CompileEffort::kFull : CompileEffort::kQuick};
}

}  // namespace esper::lanes
