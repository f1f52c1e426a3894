#include "lanes/structure/structure_preparer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text/rounding.h"
#include "device/asynchronous_error.h"
#include "device/facts.h"
#include "device/out_of_memory.h"
#include "device/rng.h"
#include "lanes/lane/failure_text.h"
#include "lanes/lane/seed_aliases.h"
#include "lanes/structure/precompilation.h"
#include "lanes/structure/structure.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {

using base::format_significant;
using base::milliseconds;
using step::Microbatch;

namespace {

using LaneId = config::Lane;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// After this time no further piece of a dry run is started; a piece is a few steps. Where epochs are long it is this
// part of the time since the last pause, so that a large structure is ready in as many epochs as a small one.
constexpr base::Duration kLeastPause = std::chrono::milliseconds(10);
constexpr int kPartOfEpoch = 50;

std::vector<Microbatch> copies_of(std::span<const Microbatch> microbatches) {
  const torch::NoGradGuard no_grad;
  std::vector<Microbatch> copies;
  for (const auto& [inputs, targets, goes_on] : microbatches) {
    copies.push_back({inputs.clone(), targets.clone(), goes_on});
  }
  return copies;
}

void report_prepared(const LaneContext& context, const LikelyChange& change, const KnownStructure& known) {
  const bool compiled = std::ranges::any_of(known.steps, [](const KnownStep& step) { return step.ready.has_value(); });
  context.emit(event("tolaria.growth_prepared"_event, Level::kInfo,
                     {{"change", describe(change)},
                      {"lane", compiled ? "compiled" : "replay"},
                      {"prepare_ms", format_significant(known.prepare_ms, 4)}}));
}

void advance_to_end(DryRun& run) {
  while (!run.is_done()) run.advance();
}

}  // namespace

void report_unprepared(const LaneContext& context, const std::string& change, const std::string& reason) {
  context.emit(event("tolaria.growth_unprepared"_event, Level::kWarning, {{"change", change}, {"reason", reason}}));
}

bool StructurePreparer::is_on() const {
  return context_.config.compile.ahead > 0 && context_.config.lane != LaneId::kEager && services_.build != nullptr;
}

// Of the exception that is being handled. The run continues without what does not fit into memory. It ends where the
// GPU is lost: whatever it tries next fails, and does not say why.
bool StructurePreparer::gives_up_for(const std::exception& error) {
  if (device::is_asynchronous_error(error.what())) throw;
  const auto* not_preparable = dynamic_cast<const NotPreparable*>(&error);
  const bool of_memory =
      not_preparable != nullptr ? not_preparable->of_memory : !device::out_of_memory_message(error).empty();
  if (!of_memory) return false;
  gave_up_ = true;
  dry_run_.reset();
  return true;
}

void StructurePreparer::keep_example(const StepShape& shape, std::span<const Microbatch> microbatches,
                                     std::int64_t left) {
  if (gave_up_ || examples_.contains(shape.name)) return;
  try {
    examples_[shape.name] = {shape.sizes, copies_of(microbatches), left};
  } catch (const std::exception& error) {
    if (!gives_up_for(error)) throw;
    report_unprepared(context_, "any", describe(error));
  }
}

void StructurePreparer::prepare(const StructureInUse& in_use, std::span<const LikelyChange> likely,
                                std::int64_t steps_left) {
  if (gave_up_) return;
  const auto now = context_.services.clock.now();
  const auto since = now - std::exchange(last_pause_, now).value_or(now);
  Work work{std::max(kLeastPause, since / kPartOfEpoch)};
  try {
    const device::KeptRngState kept(context_.device);
    take_precompiled(queue_, failures_, library_);
    const SeedAliases aliases(context_.model);
    std::vector<KnownStructure*> next;
    for (const LikelyChange& change : likely) {
      const std::string place = in_use.structure + aliases.rename(describe(change));
      if (KnownStructure* known = look_at(change, place, in_use, work)) next.push_back(known);
      if (next.size() == StructureLibrary::kMost / 2) break;
    }
    if (in_use.compiling) return;
    const StepsToCome steps{in_use.lane, examples_, steps_left};
    for (const KnownStructure* known : next) precompile(context_, queue_, *known, steps);
  } catch (const std::exception& error) {
    if (!gives_up_for(error)) throw;
    report_unprepared(context_, "any", describe(error));
  }
}

// The structure that results from the change, if its dry run is done.
KnownStructure* StructurePreparer::look_at(const LikelyChange& change, const std::string& place,
                                           const StructureInUse& in_use, Work& work) {
  const auto is_open = [&] { return dry_run_ && dry_run_->place == place; };
  if ((is_open() || !leads_to_.contains(place)) && !std::exchange(work.is_done, true)) {
    run_dry(change, place, in_use, work.limit);
  }
  if (is_open()) return nullptr;
  const auto leads_to = leads_to_.find(place);
  if (leads_to == leads_to_.end() || leads_to->second.empty()) return nullptr;
  KnownStructure* known = library_.find(leads_to->second);
  if (known == nullptr) {  // dropped since
    leads_to_.erase(leads_to);
    return nullptr;
  }
  const bool arrived = std::ranges::any_of(
      known->steps, [](const KnownStep& step) { return step.waits_for_package() && step.in_cache; });
  if (arrived && !std::exchange(work.is_done, true)) check_arrived(change, *known, in_use);
  return known;
}

// Works piece by piece until the time limit; a later call continues.
void StructurePreparer::run_dry(const LikelyChange& change, const std::string& place, const StructureInUse& in_use,
                                base::Duration limit) {
  const auto begin = context_.services.clock.now();
  const auto elapsed = [&] { return context_.services.clock.now() - begin; };
  try {
    if (!dry_run_ || dry_run_->place != place) begin_dry_run(change, place, in_use);
    while (dry_run_ && !dry_run_->run->is_done() && elapsed() < limit) dry_run_->run->advance();
  } catch (const std::exception& error) {
    const std::string reason = describe(error);
    dry_run_.reset();
    leads_to_[place].clear();
    gives_up_for(error);
    return report_unprepared(context_, describe(change), reason);
  }
  if (!dry_run_) return;
  dry_run_->run->known().prepare_ms += milliseconds(elapsed());
  if (!dry_run_->run->is_done()) return;
  report_prepared(context_, change, library_.put(std::move(dry_run_->run->known())));
  dry_run_.reset();
}

// Determines the structure that results from the change, and begins its dry run if it is not known.
void StructurePreparer::begin_dry_run(const LikelyChange& change, const std::string& place,
                                      const StructureInUse& in_use) {
  dry_run_.reset();
  if (!has_room()) return;
  constexpr std::size_t kMostPlaces = 256;
  if (leads_to_.size() >= kMostPlaces) leads_to_.clear();
  auto scratch = make_scratch_model_after(change, services_.build, context_.model, services_.growth);
  const std::string structure = leads_to_[place] = structure_of(*scratch);
  if (library_.find(structure) != nullptr) return;
  dry_run_ = Open{place, std::make_unique<DryRun>(context_, failures_, examples_, std::move(scratch),
                                                  KnownStructure{structure}, in_use.compiled)};
}

// A package was compiled since the dry run.
void StructurePreparer::check_arrived(const LikelyChange& change, KnownStructure& known, const StructureInUse& in_use) {
  const auto begin = context_.services.clock.now();
  try {
    auto scratch = make_scratch_model_after(change, services_.build, context_.model, services_.growth);
    DryRun run(context_, failures_, examples_, std::move(scratch), known, in_use.compiled);
    advance_to_end(run);
    known = std::move(run.known());
  } catch (const std::exception& error) {
    gives_up_for(error);
    for (KnownStep& step : known.steps) step.unavailable |= step.waits_for_package() && step.in_cache;
    return report_unprepared(context_, describe(change), describe(error));
  }
  known.prepare_ms += milliseconds(context_.services.clock.now() - begin);
  report_prepared(context_, change, known);
}

bool StructurePreparer::has_room() {
  const auto memory = services_.memory ? services_.memory() : device::memory_figures(context_.device);
  if (has_room_for_scratch_model(memory)) return true;
  gave_up_ = true;
  const auto megabytes = room_for_scratch_model(memory) >> 20;
  report_unprepared(context_, "any",
                    fmt::format("a second network may not fit into memory: {} MB are free", megabytes));
  return false;
}

void StructurePreparer::finish(const std::string& structure) {
  const KnownStructure* const known = library_.find(structure);
  const bool ready =
      known != nullptr && std::ranges::none_of(known->steps, [](const auto& step) { return step.waits_for_package(); });
  if (ready) return;
  if (gave_up_ || !has_room()) return library_.drop(structure);  // it starts unprepared
  const auto begin = context_.services.clock.now();
  try {
    const device::KeptRngState kept(context_.device);
    DryRun run(context_, failures_, examples_, make_scratch_model(services_.build, context_.model),
               known != nullptr ? *known : KnownStructure{structure}, {});
    advance_to_end(run);
    wait_for_packages(run, queue_, failures_, context_.figures);
    run.look_for_packages();
    advance_to_end(run);
    run.known().prepare_ms += milliseconds(context_.services.clock.now() - begin);
    library_.put(std::move(run.known()));
  } catch (const std::exception& error) {
    const std::string reason = describe(error);
    gives_up_for(error);
    library_.drop(structure);
    report_unprepared(context_, "the new structure", reason);
  }
}

}  // namespace esper::lanes
