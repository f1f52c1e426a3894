// Compiled programs of structures that may come: loaded from the cache and held against eager, on a twin of the model.

#include <algorithm>

#include "base/error.h"
#include "base/file_system.h"
#include "base/names.h"
#include "base/text/rounding.h"
#include "lanes/lane_comparison.h"
#include "lanes/step_preparer.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::digits;
using base::milliseconds;
using step::Model;
using step::training_forward;

using config::Lane;
using leyline::event;
using leyline::Level;
using program::CompileEffort;
using namespace leyline::literals;

// Its package has come since it was rehearsed.
void StepPreparer::check_arrived(const LikelyChange& change, KnownStructure& known) {
  const auto begin = services_.clock.now();
  try {
    const auto twin = make_twin_after(change, services_.twin, model_, services_.growth);
    for (KnownStep& step : known.steps) try_package(*twin, known, step);
  } catch (const std::exception& error) {
    gives_up_for(error);
    for (KnownStep& step : known.steps) step.hopeless |= step.waits_for_package() && step.in_cache;
    return tell_unprepared(words_of(change), words_of(error));
  }
  known.prepare_ms += milliseconds(services_.clock.now() - begin);
  services_.tell(
      event("tolaria.growth_prepared"_event, Level::kInfo,
            {{"change", words_of(change)}, {"lane", "compiled"}, {"prepare_ms", digits(known.prepare_ms, 4)}}));
}

// If the cache has the step's package: loads it and holds it against eager, on the twin.
void StepPreparer::try_package(Model& twin, KnownStructure& known, KnownStep& step) {
  if (!step.waits_for_package()) return;
  const auto begin = services_.clock.now();
  const auto cached = services_.desk->find(step.variant.key);
  step.in_cache = cached.has_value();
  const bool full = cached && cached->facts.effort == base::name_of(CompileEffort::kFull);
  if (!cached || (config_.lane == Lane::kCompiled && !full)) return;
  const Batch example = examples_.at(step.shape).batch;
  const auto loaded = std::ranges::find_if(known.steps, [&](const KnownStep& other) {
    return other.ready && other.ready->key == step.variant.key;  // for another batch size
  });
  try {
    FastLane lane = loaded != known.steps.end() ? FastLane::bound(*loaded->ready, step.program, twin, example)
                                                : FastLane::compiled(known.to_compile(step), twin, example,
                                                                     cached->file.path(), step.variant.key);
    ++figures_.checks;
    const Comparison comparison = compare_steps(twin, lane, example, training_forward(twin.network));
    if (comparison.kind == Comparison::Kind::kDiffers) {
      ++figures_.checks_failed;
      trouble_.put_away(lane, LaneTrouble::Cause::kErred, "its step differs from eager's, in a rehearsal",
                        &*comparison.where);
      return give_up_package(known, step.variant.key);
    }
    if (comparison.kind == Comparison::Kind::kUndecided) return;
    step.ready = lane.loaded();
    step.variant.effort = full ? CompileEffort::kFull : CompileEffort::kQuick;
    ++figures_.cache_hits;
    services_.tell(
        event("tolaria.compile_cache_hit"_event, Level::kInfo,
              {{"key", step.variant.key}, {"load_ms", digits(milliseconds(services_.clock.now() - begin), 4)}}));
  } catch (const base::IoError&) {  // a full disk: the package may be good
    throw;
  } catch (const base::Error& error) {
    if (error.code() != base::ExitCode::kResources) throw;  // it loads: the fault is not the package's
    ++figures_.quarantined;
    services_.desk->quarantine(step.variant.key, program::EntryFault::kDamaged, error.what());
    services_.tell(event("tolaria.compile_runtime_fallback"_event, Level::kWarning, {{"error", error.what()}}));
    give_up_package(known, step.variant.key);
  }
}

void StepPreparer::give_up_package(KnownStructure& known, const std::string& key) {
  for (KnownStep& step : known.steps) {
    if (step.variant.key != key) continue;
    step.ready.reset();
    step.hopeless = true;
  }
}

}  // namespace esper::lanes
