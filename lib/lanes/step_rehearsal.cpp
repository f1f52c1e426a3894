// The step of a structure that may come, recorded and held against eager on a twin of the model.

#include <algorithm>

#include "base/error.h"
#include "base/text/rounding.h"
#include "lanes/lane_comparison.h"
#include "lanes/step_preparer.h"
#include "lanes/step_sizes.h"
#include "lanes/structure.h"
#include "leyline/telemetry.h"
#include "step/probe.h"

namespace esper::lanes {

using base::digits;
using base::milliseconds;
using step::Model;
using step::probe_attribution;
using step::training_forward;

namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using program::SymbolicProgram;
using namespace leyline::literals;

// After so long no further piece of a rehearsal is begun; a piece is a few steps.
constexpr base::Duration kLongestPause = std::chrono::milliseconds(10);

// Cannot be used, and why.
struct NotPreparable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace

// Piece by piece, until the pause has been long enough; a later call goes on.
void StepPreparer::rehearse(const LikelyChange& change, const std::string& place, const StructureInUse& in_use) {
  const auto begin = services_.clock.now();
  try {
    if (!rehearsal_ || rehearsal_->place != place) begin_rehearsal(change, place);
    while (rehearsal_ && !is_rehearsed() && services_.clock.now() - begin < kLongestPause) go_on_rehearsing(in_use);
  } catch (const std::exception& error) {
    rehearsal_.reset();
    outlook_[place].clear();
    gives_up_for(error);
    return tell_unprepared(words_of(change), words_of(error));
  }
  if (!rehearsal_) return;
  rehearsal_->known.prepare_ms += milliseconds(services_.clock.now() - begin);
  if (is_rehearsed()) close_rehearsal(change);
}

void StepPreparer::close_rehearsal(const LikelyChange& change) {
  KnownStructure& known = rehearsal_->known;
  const bool compiled = std::ranges::any_of(known.steps, [](const KnownStep& step) { return step.ready.has_value(); });
  services_.tell(event("tolaria.growth_prepared"_event, Level::kInfo,
                       {{"change", words_of(change)},
                        {"lane", compiled ? "compiled" : "replay"},
                        {"prepare_ms", digits(known.prepare_ms, 4)}}));
  library_.put(std::move(known));
  rehearsal_.reset();
}

bool StepPreparer::is_rehearsed() const {
  const auto& [place, twin, known, compared, tried] = *rehearsal_;
  return known.steps.size() == examples_.size() && compared == known.steps.size() && tried == known.steps.size();
}

// Finds out what the change leads to.
void StepPreparer::begin_rehearsal(const LikelyChange& change, const std::string& place) {
  rehearsal_.reset();
  if (!has_room()) return;
  constexpr std::size_t kMostPlaces = 256;
  if (outlook_.size() >= kMostPlaces) outlook_.clear();
  Rehearsal made{place, make_twin_after(change, services_.twin, model_, services_.growth), {}};
  made.known.structure = outlook_[place] = structure_of(*made.twin);
  if (library_.find(made.known.structure) == nullptr) rehearsal_ = std::move(made);
}

void StepPreparer::go_on_rehearsing(const StructureInUse& in_use) {
  auto& [place, twin, known, compared, tried] = *rehearsal_;
  if (compared < known.steps.size()) return compare_replay(*twin, known.steps[compared++]);
  if (known.steps.size() < examples_.size()) {
    const auto next = std::ranges::find_if(examples_, [&](const auto& example) {
      return std::ranges::none_of(known.steps, [&](const KnownStep& step) { return step.shape == example.first; });
    });
    return record_shape(*twin, known, next->first, in_use);
  }
  if (tried < known.steps.size()) return try_package(*twin, known, known.steps[tried++]);
}

// Throws where it cannot be recorded.
void StepPreparer::record_shape(Model& twin, KnownStructure& known, const std::string& shape,
                                const StructureInUse& in_use) {
  const Batch example = examples_.at(shape).batch;
  probe_attribution(twin, example);
  auto recorded =
      record_undone(twin, example, training_forward(twin.network), std::max(1, config_.compile.warmup_steps));
  if (!recorded) throw NotPreparable(recorded.error());
  KnownStep step{shape, *std::move(recorded)};
  if (config_.compile.dynamic && !in_use.each_size_alone) find_family(twin, known, step);
  choose_variant(known, step, in_use);
  known.steps.push_back(std::move(step));
}

// Throws where the replay is not eager's step.
void StepPreparer::compare_replay(Model& twin, KnownStep& step) {
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

void StepPreparer::find_family(Model& twin, KnownStructure& known, KnownStep& step) {
  const Batch example = examples_.at(step.shape).batch;
  const std::int64_t n = batch_size_of(example);
  for (std::size_t i = 0; i < known.families.size(); ++i) {
    if (!known.families[i].covers(n) || known.families[i].at(n) != step.program) continue;
    step.family = i;
    return;
  }
  auto symbolic = record_for_all_sizes(twin, example, step.program, training_forward(twin.network));
  if (symbolic) {
    step.family = known.families.size();
    known.families.push_back(*std::move(symbolic));
  }
}

// The recipe that the structure in use runs, where it suits; else the most promising one.
void StepPreparer::choose_variant(const KnownStructure& known, KnownStep& step, const StructureInUse& in_use) {
  const bool compiles = config_.lane == Lane::kAuto || config_.lane == Lane::kCompiled;
  if (!compiles || services_.desk == nullptr || !services_.desk->problem().empty()) return;
  const SymbolicProgram program = known.to_compile(step);
  for (const std::string& recipe : services_.desk->recipes(program)) {
    const std::string key = services_.desk->key(program, recipe);
    if (services_.desk->found_wrong(key)) continue;
    if (step.variant.key.empty() || recipe == in_use.recipe)
      step.variant = {recipe, program::CompileEffort::kFull, key};
  }
}

}  // namespace esper::lanes
