// The steps of structures that may come, rehearsed: recorded and checked on a twin of the model, with the run's random
// numbers put back.

#include <algorithm>

#include "device/facts.h"
#include "device/out_of_memory.h"
#include "device/rng.h"
#include "leyline/error.h"
#include "leyline/file_system.h"
#include "leyline/names.h"
#include "leyline/telemetry.h"
#include "tolaria/in_words.h"
#include "tolaria/lane_comparison.h"
#include "tolaria/probe.h"
#include "tolaria/step_runner.h"
#include "tolaria/step_sizes.h"
#include "tolaria/structure.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Lane;
using leyline::Level;
using program::CompileEffort;
using program::SymbolicProgram;
using namespace leyline::literals;

// After so long no further piece of a rehearsal is begun; a piece is a few steps.
constexpr leyline::Duration kLongestPause = std::chrono::milliseconds(10);

// What a rehearsal draws, the run does not miss.
class KeptRandomNumbers {
 public:
  explicit KeptRandomNumbers(torch::Device device) : device_(device), state_(device::rng_state(device)) {}
  ~KeptRandomNumbers() { device::set_rng_state(device_, state_); }
  KeptRandomNumbers(const KeptRandomNumbers&) = delete;

 private:
  torch::Device device_;
  device::RngState state_;
};

// Cannot be used, and why.
struct NotPreparable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

void StepRunner::prepare(std::span<const LikelyChange> likely, std::int64_t steps_left) {
  const bool may = prepares() && !gave_up_ahead_ && !plans_.empty();
  if (!may || plans_.front()->structure != model_.network.structure_version()) return;
  const Preparing preparing(*this);
  const KeptRandomNumbers kept(device_);
  take_ahead();
  const SeedAliases aliases(model_);
  std::vector<KnownStructure*> next;
  bool worked = false;
  for (const LikelyChange& change : likely) {
    const std::string place = structure_ + aliases.rename(words_of(change));
    const auto is_open = [&] { return rehearsal_ && rehearsal_->place == place; };
    if ((is_open() || !outlook_.contains(place)) && !std::exchange(worked, true)) rehearse(change, place);
    if (is_open()) continue;
    const auto leads_to = outlook_.find(place);
    if (leads_to == outlook_.end() || leads_to->second.empty()) continue;
    KnownStructure* known = library_.find(leads_to->second);
    if (known == nullptr) {  // forgotten since
      outlook_.erase(leads_to);
      continue;
    }
    const bool arrived = std::ranges::any_of(
        known->steps, [](const KnownStep& step) { return step.waits_for_package() && step.in_cache; });
    if (arrived && !std::exchange(worked, true)) check_ahead(change, *known);
    next.push_back(known);
    if (next.size() == StepLibrary::kMost / 2) break;
  }
  for (KnownStructure* known : next) {
    for (const KnownStep& step : known->steps) {
      const bool wanted = step.waits_for_package() && !step.in_cache && pays_ahead(step, steps_left);
      if (wanted) submit_ahead(*known, step);
    }
  }
}

void StepRunner::tell_unprepared(const std::string& change, const std::string& reason) {
  tell(event("tolaria.growth_unprepared"_event, Level::kWarning, {{"change", change}, {"reason", reason}}));
}

// A step on a twin takes at most what the run itself has ever taken.
bool StepRunner::has_room() {
  const auto memory = device::memory_figures(device_);
  const auto free = memory.free_bytes + (device_.is_cuda() ? memory.reserved_bytes - memory.used_bytes : 0);
  if (free > memory.peak_bytes) return true;
  gave_up_ahead_ = true;
  tell_unprepared("any", "a second network may not fit into memory: " + std::to_string(free >> 20) + " MB are free");
  return false;
}

// Piece by piece, until the pause has been long enough; a later call goes on.
void StepRunner::rehearse(const LikelyChange& change, const std::string& place) {
  const auto begin = services_.clock.now();
  try {
    if (!rehearsal_ || rehearsal_->place != place) begin_rehearsal(change, place);
    while (rehearsal_ && !is_rehearsed() && services_.clock.now() - begin < kLongestPause) go_on_rehearsing();
  } catch (const std::exception& error) {
    rehearsal_.reset();
    outlook_[place].clear();
    gave_up_ahead_ = !device::lack_of_memory(error).empty();
    return tell_unprepared(words_of(change), words_of(error));
  }
  if (!rehearsal_) return;
  KnownStructure& known = rehearsal_->known;
  known.prepare_ms += milliseconds(services_.clock.now() - begin);
  if (!is_rehearsed()) return;
  const bool compiled = std::ranges::any_of(known.steps, [](const KnownStep& step) { return step.ready.has_value(); });
  tell(event("tolaria.growth_prepared"_event, Level::kInfo,
             {{"change", words_of(change)},
              {"lane", compiled ? "compiled" : "replay"},
              {"prepare_ms", digits(known.prepare_ms, 4)}}));
  library_.put(std::move(known));
  rehearsal_.reset();
}

bool StepRunner::is_rehearsed() const {
  const auto& [place, twin, known, compared, tried] = *rehearsal_;
  return known.steps.size() == examples_.size() && compared == known.steps.size() && tried == known.steps.size();
}

// Finds out what the change leads to.
void StepRunner::begin_rehearsal(const LikelyChange& change, const std::string& place) {
  rehearsal_.reset();
  if (!has_room()) return;
  constexpr std::size_t kMostPlaces = 256;
  if (outlook_.size() >= kMostPlaces) outlook_.clear();
  Rehearsal made{place, make_twin_after(change, services_.twin, model_, services_.growth), {}};
  made.known.structure = outlook_[place] = structure_of(*made.twin);
  if (library_.find(made.known.structure) == nullptr) rehearsal_ = std::move(made);
}

void StepRunner::go_on_rehearsing() {
  auto& [place, twin, known, compared, tried] = *rehearsal_;
  if (compared < known.steps.size()) return compare_replay(*twin, known.steps[compared++]);
  if (known.steps.size() < examples_.size()) {
    const auto next = std::next(examples_.begin(), static_cast<std::ptrdiff_t>(known.steps.size()));
    return record_shape(*twin, known, next->first);
  }
  if (tried < known.steps.size()) return try_package(*twin, known, known.steps[tried++]);
}

// Throws where it cannot be recorded.
void StepRunner::record_shape(Model& twin, KnownStructure& known, const std::string& shape) {
  const Batch example = examples_.at(shape).batch;
  probe_attribution(twin, example);
  auto recorded =
      record_undone(twin, example, training_forward(twin.network), std::max(1, config_.compile.warmup_steps));
  if (const auto* reason = std::get_if<std::string>(&recorded)) throw NotPreparable(*reason);
  KnownStep step{shape, std::move(std::get<program::Program>(recorded))};
  if (config_.compile.dynamic && !no_families_) find_known_family(twin, known, step);
  choose_variant(known, step);
  known.steps.push_back(std::move(step));
}

// Throws where the replay is not eager's step.
void StepRunner::compare_replay(Model& twin, KnownStep& step) {
  const Batch example = examples_.at(step.shape).batch;
  FastLane replay = FastLane::replay(step.program, twin, example);
  ++figures_.checks;
  const Comparison comparison = compare_steps(twin, replay, example, training_forward(twin.network));
  if (comparison.kind == Comparison::Kind::kDiffers) {
    ++figures_.checks_failed;
    throw NotPreparable("its replay differs from eager's step in " + comparison.where->tensor);
  }
  step.replay_agreed = comparison.kind == Comparison::Kind::kSame;
}

void StepRunner::find_known_family(Model& twin, KnownStructure& known, KnownStep& step) {
  const Batch example = examples_.at(step.shape).batch;
  const std::int64_t n = batch_size_of(example);
  for (std::size_t i = 0; i < known.families.size(); ++i) {
    if (!known.families[i].covers(n) || known.families[i].at(n) != step.program) continue;
    step.family = i;
    return;
  }
  auto symbolic = record_for_all_sizes(twin, example, step.program, training_forward(twin.network));
  if (auto* found = std::get_if<SymbolicProgram>(&symbolic)) {
    step.family = known.families.size();
    known.families.push_back(std::move(*found));
  }
}

// The recipe that the structure in use runs, where it suits; else the most promising one.
void StepRunner::choose_variant(const KnownStructure& known, KnownStep& step) {
  const bool compiles = config_.lane == Lane::kAuto || config_.lane == Lane::kCompiled;
  if (!compiles || services_.desk == nullptr || !services_.desk->problem().empty()) return;
  const SymbolicProgram program = known.to_compile(step);
  std::string in_use;
  for (const auto& plan : plans_) {
    if (plan->runs_compiled() && !plan->is_follower()) in_use = plan->recipe;
  }
  for (const std::string& recipe : services_.desk->recipes(program)) {
    const std::string key = services_.desk->key(program, recipe);
    if (services_.desk->found_wrong(key)) continue;
    if (step.variant.key.empty() || recipe == in_use) step.variant = {recipe, CompileEffort::kFull, key};
  }
}

// Its package has come since it was rehearsed.
void StepRunner::check_ahead(const LikelyChange& change, KnownStructure& known) {
  const auto begin = services_.clock.now();
  try {
    const auto twin = make_twin_after(change, services_.twin, model_, services_.growth);
    for (KnownStep& step : known.steps) try_package(*twin, known, step);
  } catch (const std::exception& error) {
    gave_up_ahead_ = !device::lack_of_memory(error).empty();
    for (KnownStep& step : known.steps) step.hopeless |= step.waits_for_package() && step.in_cache;
    return tell_unprepared(words_of(change), words_of(error));
  }
  known.prepare_ms += milliseconds(services_.clock.now() - begin);
  tell(event("tolaria.growth_prepared"_event, Level::kInfo,
             {{"change", words_of(change)}, {"lane", "compiled"}, {"prepare_ms", digits(known.prepare_ms, 4)}}));
}

// If the cache has the step's package: loads it and holds it against eager, on the twin.
void StepRunner::try_package(Model& twin, KnownStructure& known, KnownStep& step) {
  if (!step.waits_for_package()) return;
  const auto begin = services_.clock.now();
  const auto cached = services_.desk->find(step.variant.key);
  step.in_cache = cached.has_value();
  const bool full = cached && cached->facts.effort == leyline::name_of(CompileEffort::kFull);
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
      put_away(lane, Cause::kErred, "its step differs from eager's, in a rehearsal", &*comparison.where);
      return give_up_package(known, step.variant.key);
    }
    if (comparison.kind == Comparison::Kind::kUndecided) return;
    step.ready = lane.loaded();
    step.variant.effort = full ? CompileEffort::kFull : CompileEffort::kQuick;
    ++figures_.cache_hits;
    tell(event("tolaria.compile_cache_hit"_event, Level::kInfo,
               {{"key", step.variant.key}, {"load_ms", digits(milliseconds(services_.clock.now() - begin), 4)}}));
  } catch (const leyline::IoError&) {  // a full disk: the package may be good
    throw;
  } catch (const leyline::Error& error) {
    if (error.code() != leyline::ExitCode::kResources) throw;  // it loads: the fault is not the package's
    ++figures_.quarantined;
    services_.desk->quarantine(step.variant.key, program::EntryFault::kDamaged, error.what());
    tell(event("tolaria.compile_runtime_fallback"_event, Level::kWarning, {{"error", error.what()}}));
    give_up_package(known, step.variant.key);
  }
}

void StepRunner::give_up_package(KnownStructure& known, const std::string& key) {
  for (KnownStep& step : known.steps) {
    if (step.variant.key != key) continue;
    step.ready.reset();
    step.hopeless = true;
  }
}

// Lane compiled waits, so that it begins at the same step whenever the program was compiled: what came is prepared here
// as far as it was not before.
void StepRunner::finish_preparing() {
  KnownStructure* known = library_.find(structure_);
  const bool ready =
      known != nullptr && std::ranges::none_of(known->steps, [](const auto& step) { return step.waits_for_package(); });
  if (ready) return;
  const auto begin = services_.clock.now();
  const KeptRandomNumbers kept(device_);
  try {
    const auto twin = make_twin(services_.twin, model_);
    if (known == nullptr) {
      KnownStructure made;
      made.structure = structure_;
      for (const auto& [shape, example] : examples_) {
        record_shape(*twin, made, shape);
        compare_replay(*twin, made.steps.back());
      }
      known = &library_.put(std::move(made));
    }
    for (KnownStep& step : known->steps) {
      try_package(*twin, *known, step);
      if (!step.waits_for_package()) continue;
      wait_ahead(*known, step);
      try_package(*twin, *known, step);
    }
    known->prepare_ms += milliseconds(services_.clock.now() - begin);
  } catch (const std::exception& error) {
    gave_up_ahead_ |= !device::lack_of_memory(error).empty();
    tell_unprepared("the structure that came", words_of(error));
    tell_no_compiler("unprepared", words_of(error));
  }
}

}  // namespace esper::tolaria
