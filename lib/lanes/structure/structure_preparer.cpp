#include "lanes/structure/structure_preparer.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/text/rounding.h"
#include "device/facts.h"
#include "device/out_of_memory.h"
#include "device/rng.h"
#include "lanes/lane/failure_text.h"
#include "lanes/lane/seed_aliases.h"
#include "lanes/shape/compile_cost.h"
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

// Restores the random number generators after a dry run.
class KeptRandomNumbers {
 public:
  explicit KeptRandomNumbers(torch::Device device) : device_(device), state_(device::rng_state(device)) {}
  ~KeptRandomNumbers() { device::set_rng_state(device_, state_); }
  KeptRandomNumbers(const KeptRandomNumbers&) = delete;

 private:
  torch::Device device_;
  device::RngState state_;
};

std::vector<Microbatch> copies_of(std::span<const Microbatch> microbatches) {
  const torch::NoGradGuard no_grad;
  std::vector<Microbatch> copies;
  for (const auto& [inputs, targets, goes_on] : microbatches) {
    copies.push_back({inputs.clone(), targets.clone(), goes_on});
  }
  return copies;
}

}  // namespace

bool StructurePreparer::is_on() const {
  return context_.config.compile.ahead > 0 && context_.config.lane != LaneId::kEager && services_.build != nullptr;
}

void StructurePreparer::report_unprepared(const std::string& change, const std::string& reason) {
  context_.emit(event("tolaria.growth_unprepared"_event, Level::kWarning, {{"change", change}, {"reason", reason}}));
}

void StructurePreparer::report_prepared(const LikelyChange& change, const KnownStructure& known) {
  const bool compiled = std::ranges::any_of(known.steps, [](const KnownStep& step) { return step.ready.has_value(); });
  context_.emit(event("tolaria.growth_prepared"_event, Level::kInfo,
                      {{"change", describe(change)},
                       {"lane", compiled ? "compiled" : "replay"},
                       {"prepare_ms", format_significant(known.prepare_ms, 4)}}));
}

// The run continues without what does not fit into memory.
bool StructurePreparer::gives_up_for(const std::exception& error) {
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
    report_unprepared("any", describe(error));
  }
}

void StructurePreparer::prepare(const StructureInUse& in_use, std::span<const LikelyChange> likely,
                                std::int64_t steps_left) {
  if (gave_up_) return;
  const auto now = context_.services.clock.now();
  const auto since = now - std::exchange(last_pause_, now).value_or(now);
  pause_ = std::max(kLeastPause, since / kPartOfEpoch);
  try {
    const KeptRandomNumbers kept(context_.device);
    take_precompiled();
    const SeedAliases aliases(context_.model);
    std::vector<KnownStructure*> next;
    bool worked = false;
    for (const LikelyChange& change : likely) {
      const std::string place = in_use.structure + aliases.rename(describe(change));
      if (KnownStructure* known = look_at(change, place, in_use, worked)) next.push_back(known);
      if (next.size() == StructureLibrary::kMost / 2) break;
    }
    for (KnownStructure* known : next) {
      for (const KnownStep& step : known->steps) {
        const bool wanted = step.waits_for_package() && !step.in_cache && pays(step, in_use, steps_left);
        if (!wanted || in_use.compiling || queue_.is_precompiling()) continue;
        const Precompilation ahead{known->structure, step.shape, step.variant};
        if (queue_.precompile(known->to_compile(step), ahead)) ++context_.figures.cache_misses;
      }
    }
  } catch (const std::exception& error) {
    if (!gives_up_for(error)) throw;
    report_unprepared("any", describe(error));
  }
}

// The structure that results from the change, if its dry run is done. worked: this call has done its one piece of work.
KnownStructure* StructurePreparer::look_at(const LikelyChange& change, const std::string& place,
                                           const StructureInUse& in_use, bool& worked) {
  const auto is_open = [&] { return dry_run_ && dry_run_->place == place; };
  if ((is_open() || !leads_to_.contains(place)) && !std::exchange(worked, true)) run_dry(change, place, in_use);
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
  if (arrived && !std::exchange(worked, true)) check_arrived(change, *known, in_use);
  return known;
}

// Works piece by piece until the time limit; a later call continues.
void StructurePreparer::run_dry(const LikelyChange& change, const std::string& place, const StructureInUse& in_use) {
  const auto begin = context_.services.clock.now();
  const auto elapsed = [&] { return context_.services.clock.now() - begin; };
  try {
    if (!dry_run_ || dry_run_->place != place) begin_dry_run(change, place, in_use);
    while (dry_run_ && !dry_run_->run->is_done() && elapsed() < pause_) dry_run_->run->advance();
  } catch (const std::exception& error) {
    const std::string reason = describe(error);
    dry_run_.reset();
    leads_to_[place].clear();
    gives_up_for(error);
    return report_unprepared(describe(change), reason);
  }
  if (!dry_run_) return;
  dry_run_->run->known().prepare_ms += milliseconds(elapsed());
  if (dry_run_->run->is_done()) close_dry_run(change);
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

void StructurePreparer::close_dry_run(const LikelyChange& change) {
  report_prepared(change, library_.put(std::move(dry_run_->run->known())));
  dry_run_.reset();
}

// A package was compiled since the dry run.
void StructurePreparer::check_arrived(const LikelyChange& change, KnownStructure& known, const StructureInUse& in_use) {
  const auto begin = context_.services.clock.now();
  try {
    auto scratch = make_scratch_model_after(change, services_.build, context_.model, services_.growth);
    DryRun run(context_, failures_, examples_, std::move(scratch), known, in_use.compiled);
    while (!run.is_done()) run.advance();
    known = std::move(run.known());
  } catch (const std::exception& error) {
    gives_up_for(error);
    for (KnownStep& step : known.steps) step.unavailable |= step.waits_for_package() && step.in_cache;
    return report_unprepared(describe(change), describe(error));
  }
  known.prepare_ms += milliseconds(context_.services.clock.now() - begin);
  report_prepared(change, known);
}

void StructurePreparer::take_precompiled() {
  const auto done = queue_.poll_precompilation();
  if (!done) return;
  const auto& [ahead, outcome] = *done;
  if (outcome.failure) failures_.report_no_compiler(std::string(base::name_of(*outcome.failure)), outcome.reason);
  KnownStructure* known = library_.find(ahead.structure);
  if (known == nullptr) return;
  for (KnownStep& step : known->steps) {
    if (step.variant.key != ahead.variant.key) continue;
    step.in_cache |= !outcome.failure;
    step.unavailable |= outcome.failure.has_value();
  }
}

// As for the step in use: the remaining steps have to pay for a compilation.
bool StructurePreparer::pays(const KnownStep& step, const StructureInUse& in_use, std::int64_t steps_left) const {
  if (context_.config.lane == LaneId::kCompiled) return true;
  if (in_use.lane != LaneId::kCompiled) return false;
  const auto example = examples_.find(step.shape);
  const std::int64_t left = example == examples_.end() ? 0 : std::min(example->second.left, steps_left);
  return weigh_compiling(step.program, context_.figures.steady_step_us, left).pays;
}

bool StructurePreparer::has_room() {
  const auto memory = services_.memory ? services_.memory() : device::memory_figures(context_.device);
  if (has_room_for_scratch_model(memory)) return true;
  gave_up_ = true;
  const auto megabytes = room_for_scratch_model(memory) >> 20;
  report_unprepared("any", fmt::format("a second network may not fit into memory: {} MB are free", megabytes));
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
    const KeptRandomNumbers kept(context_.device);
    DryRun run(context_, failures_, examples_, make_scratch_model(services_.build, context_.model),
               known != nullptr ? *known : KnownStructure{structure}, {});
    while (!run.is_done()) run.advance();
    wait_for(run);
    run.look_for_packages();
    while (!run.is_done()) run.advance();
    run.known().prepare_ms += milliseconds(context_.services.clock.now() - begin);
    library_.put(std::move(run.known()));
  } catch (const std::exception& error) {
    const std::string reason = describe(error);
    gives_up_for(error);
    library_.drop(structure);
    report_unprepared("the new structure", reason);
  }
}

// Waits until the packages are ready, the deadline has passed, or the run is to stop.
void StructurePreparer::wait_for(DryRun& run) {
  std::set<std::string> waited;  // steps of several sizes may share a package
  for (KnownStep& step : run.known().steps) {
    if (!step.waits_for_package() || !waited.insert(step.variant.key).second) continue;
    ++context_.figures.cache_misses;
    queue_.start(run.known().to_compile(step), step.variant);
    const auto [end, outcome] = queue_.wait(step.variant.key);
    if (end == CompileWait::End::kLate) {
      failures_.report_no_compiler("timeout", "the compiler did not finish in time");
    }
    if (end == CompileWait::End::kInterrupted) return;
    if (!outcome || !outcome->failure) continue;
    failures_.report_no_compiler(std::string(base::name_of(*outcome->failure)), outcome->reason);
    run.reject_package(step.variant.key);
  }
}

}  // namespace esper::lanes
