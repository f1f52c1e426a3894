// How a resumed run gives its steps the bits that they had before: it follows the notes of its journal.

#include "lanes/step_runner.h"
#include "lanes/step_sizes.h"
#include "leyline/telemetry.h"

namespace esper::lanes {
namespace {

using config::Lane;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// The step whose package has this key, to be compiled; without a key where no recipe gives it. The lane that was asked
// for by name makes anew what the cache does not have: the run before was stopped while it waited for it, or the cache
// was emptied since.
KnownStep step_of(const StepPlan& plan, const std::string& key, program::CompileDesk& desk, KnownStructure& structure) {
  KnownStep step{plan.shape, *plan.program};
  if (plan.family != nullptr) {
    step.family = structure.families.size();
    structure.families.push_back(plan.family->program);
  }
  for (const std::string& recipe : desk.recipes(plan.to_compile())) {
    if (desk.key(plan.to_compile(), recipe) == key) step.variant = {recipe, program::CompileEffort::kFull, key};
  }
  return step;
}

}  // namespace

// Takes the step if the journal says which bits it had.
bool StepRunner::follow(StepPlan& plan, Batch microbatches, std::int64_t number) {
  const LaneNote* note = services_.log.at(plan.shape, number);
  if (note == nullptr && !services_.log.goes_on_after(plan.shape, number)) return false;
  if (note == nullptr || note->key.empty()) {
    plan.incumbent.reset();
    eager(microbatches);
  } else {
    if (!plan.incumbent || plan.incumbent->key() != note->key) {
      if (std::string reason = load_noted(plan, note->key, microbatches); !reason.empty()) {
        services_.log.forget(plan.shape);
        tell(event(
            "tolaria.lane_refused"_event, Level::kWarning,
            {{"lane", "compiled"}, {"reason", "this resumed run cannot repeat its steps to the bit: " + reason}}));
        return false;
      }
    }
    run_in(*plan.incumbent, microbatches);
  }
  if (!services_.log.goes_on_after(plan.shape, number)) {
    services_.log.forget(plan.shape);
    plan.warmup_left = 0;
    plan.recorded = plan.incumbent.has_value();
  }
  return true;
}

// Makes the program that the notes name the incumbent; says why not where it cannot.
std::string StepRunner::load_noted(StepPlan& plan, const std::string& key, Batch microbatches) {
  const Preparing preparing(*this);
  if (services_.desk == nullptr || !services_.desk->problem().empty()) return "nothing compiled can be had here";
  if (!plan.program) {
    auto recorded = record_undone(model_, microbatches, forward_);
    if (!recorded) return recorded.error();
    plan.program = *std::move(recorded);
  }
  if (config_.lane == Lane::kCompiled && !services_.desk->find(key)) {
    if (config_.compile.dynamic) join_family(plan, microbatches);
    KnownStructure wanted{structure_};
    const KnownStep step = step_of(plan, key, *services_.desk, wanted);
    if (!step.variant.key.empty()) preparer_.wait(wanted, step);
  }
  const auto cached = services_.desk->find(key);
  if (!cached) return "the cache no longer has the compiled program " + key;
  const auto is_noted = [&] { return services_.desk->key(plan.to_compile(), cached->facts.recipe) == key; };
  if (!is_noted()) join_family(plan, microbatches);  // it may be one for all batch sizes, whatever is asked for now
  if (!is_noted()) {
    if (!config_.compile.dynamic) plan.family = nullptr;
    return "its steps were another program";
  }
  try {
    FastLane lane = load_package(plan, microbatches, cached->file.path(), key);
    plan.incumbent.reset();
    plan.incumbent.emplace(std::move(lane));
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

// What the journal has in force already need not be noted again: a note drops those of later steps, and a run that is
// killed once more still needs them.
void StepRunner::know_noted(StepPlan& plan, std::int64_t number) {
  const LaneNote* note = services_.log.at(plan.shape, number);
  if (note == nullptr) return;
  plan.noted = bits_[plan.shape] = note->key;
  if (!note->key.empty()) check_again_after(plan, note->step);
}

// After a step that the journal told of: nothing is noted again, for the same reason.
bool StepRunner::know_bits(StepPlan& plan, std::int64_t number) {
  if (plan.noted_bits == ran_bits_) return false;
  plan.noted_bits = ran_bits_;
  if (plan.noted == ran_) return false;
  plan.noted = bits_[plan.shape] = ran_;
  if (!ran_.empty()) check_again_after(plan, number);
  return true;
}

// After each other step: the journal learns of a change of bits.
void StepRunner::note_bits(StepPlan& plan, std::int64_t number) {
  if (know_bits(plan, number) && services_.note) services_.note(lane_note_json(plan.shape, {number, ran_}));
}

}  // namespace esper::lanes
