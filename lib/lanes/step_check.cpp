// A lane's step beside eager's, from the same state.

#include "device/out_of_memory.h"
#include "lanes/lane_comparison.h"
#include "lanes/step_runner.h"

namespace esper::lanes {
namespace {

using config::Lane;

// Why something could not be done; no reason: it was.
struct Trouble {
  std::string reason;
  bool of_memory = false;
  bool met() const { return !reason.empty(); }
};

template <class Work>
Trouble attempt(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    return {words_of(error), !device::lack_of_memory(error).empty()};
  }
}

}  // namespace

// The step that training goes on from is eager's, whatever the lane did. A lane that is refused is gone afterwards.
StepRunner::Verdict StepRunner::compare_with_eager(StepPlan& plan, std::optional<FastLane>& lane, Batch microbatches) {
  const Preparing preparing(*this);
  StepCopies kept;
  Trouble trouble = attempt([&] { kept.take_before(model_, device_); });
  const bool begun = !trouble.met();
  if (begun) {
    trouble = attempt([&] {
      lane->run(microbatches);
      kept.take_after_lane();
    });
    kept.restore();
  }
  ++figures_.checks;
  Trouble crowded;
  try {
    eager(microbatches);
  } catch (const std::exception& error) {
    if (!begun || device::lack_of_memory(error).empty()) throw;
    crowded = {words_of(error), true};
  }
  if (crowded.met()) {  // beside the lane and the copies; without them it is an ordinary step
    kept.restore();
    kept = {};
    refuse(plan, lane, crowded.reason, Cause::kNoMemory, {});
    eager(microbatches);
    return Verdict::kRefused;
  }
  if (!trouble.met()) {
    bool finite = true, near_miss = false;
    std::optional<program::Difference> difference;
    trouble = attempt([&] {
      finite = last_step_was_finite(model_);
      if (finite) difference = kept.difference(model_);
      near_miss = difference && kept.is_off_by_little(model_);
    });
    if (!finite) return Verdict::kUndecided;
    if (!trouble.met() && !difference) {
      plan.near_misses = 0;
      return Verdict::kSame;
    }
    if (near_miss && ++plan.near_misses < kMostNearMisses) return Verdict::kUndecided;
    if (difference) return refuse(plan, lane, "its step differs from eager's", Cause::kErred, difference);
  }
  return refuse(plan, lane, trouble.reason, trouble.of_memory ? Cause::kNoMemory : Cause::kErred, {});
}

StepRunner::Verdict StepRunner::refuse(StepPlan& plan, std::optional<FastLane>& lane, const std::string& reason,
                                       Cause cause, const std::optional<program::Difference>& where) {
  if (cause == Cause::kErred) ++figures_.checks_failed;
  const std::string short_of_memory = cause == Cause::kNoMemory ? "no memory to compare it with eager: " : "";
  const std::string key = lane->key();
  trouble_.put_away(*lane, cause, short_of_memory + reason, where ? &*where : nullptr);
  if (lane->lane() == Lane::kCompiled) plan.tried_uncompiled = false;  // replay may be the best that is left
  lane.reset();
  if (cause == Cause::kErred) drop_shared(plan, key);
  return Verdict::kRefused;
}

void StepRunner::check_challenger(StepPlan& plan, Batch microbatches, std::int64_t number) {
  const bool compiled = plan.challenger->lane() == Lane::kCompiled;
  const std::string key = plan.challenger->key();
  const Verdict verdict = compare_with_eager(plan, plan.challenger, microbatches);
  plan.challenger_checked = verdict == Verdict::kSame;
  if (verdict == Verdict::kSame) check_again_after(plan, number);
  if (verdict == Verdict::kRefused && compiled) {
    drop_shared(plan, key);
    std::erase_if(plan.wanted, [&](const Variant& variant) { return variant.key == key; });
    if (!plan.undecided) compile_next(plan);
  }
  if (verdict == Verdict::kSame && config_.lane != Lane::kAuto) {
    adopt(plan, std::nullopt, "it is the lane that was asked for", number);
  }
}

}  // namespace esper::lanes
