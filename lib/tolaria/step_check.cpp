// A lane's step beside eager's, from the same state.

#include <new>

#include "tolaria/step_roots.h"
#include "tolaria/step_runner.h"

namespace esper::tolaria {
namespace {

using leyline::Lane;

std::vector<torch::Tensor> copies(const std::vector<program::Tracked>& tracked) {
  std::vector<torch::Tensor> result;
  for (const program::Tracked& item : tracked) result.push_back(item.tensor.detach().clone());
  return result;
}

// Why something could not be done; no reason: it was.
struct Trouble {
  std::string reason;
  bool of_memory = false;
  bool met() const { return !reason.empty(); }
};

// Torch's allocator on the CPU throws a plain error and says it in words.
bool lacks_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr && of_torch->msg().find("can't allocate memory") != std::string::npos;
}

std::string words_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

template <class Work>
Trouble attempt(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    return {words_of(error), lacks_memory(error)};
  }
}

// What has to be kept to compare one step. May not fit into memory.
struct Copies {
  std::vector<program::Tracked> tracked;
  std::optional<StepSnapshot> start;
  std::vector<torch::Tensor> before, after_lane;

  void take_before(const Model& model, torch::Device device) {
    tracked = tracked_tensors(model);
    before = copies(tracked);
    start.emplace(model, device);
  }
  std::optional<program::Difference> difference(program::Tolerance tolerance) const {
    std::vector<torch::Tensor> expected;
    for (const program::Tracked& item : tracked) expected.push_back(item.tensor.detach());
    return program::first_difference(tracked, before, expected, after_lane, tolerance);
  }
};

// A step whose gradients are not finite says nothing about a lane. With fp16 it changes nothing but the scale, so that
// a wrong program would pass; and the lane's rounding may keep it just below the largest number, so that a good one
// would be barred for good. So such a step is no comparison at all, and the next one has its turn. A lane that is not
// finite where eager is differs.
bool last_step_was_finite(const Model& model) { return model.state.figures.figure[kFinite].item<float>() != 0; }

// Where a unit of a ReLU or a pooling is on the edge, rounding decides which way it goes, and a whole gradient moves: a
// convolutional network whose inputs were changed by one part in 1e7 differed from itself by up to 8e-3 in one step out
// of six, and by 1e-6 in the others. A wrong program differs in each step. So where no tensor is off by more than this,
// the next steps are compared too.
constexpr double kLittle = 3e-2;
constexpr int kMostNearMisses = 6;

program::Tolerance with_little(program::Tolerance tolerance) {
  return {std::max(tolerance.smooth, kLittle), std::max(tolerance.normalised, kLittle)};
}

}  // namespace

// The step that training goes on from is eager's, whatever the lane did. A lane that is refused is gone afterwards.
StepRunner::Verdict StepRunner::compare_with_eager(StepPlan& plan, std::optional<FastLane>& lane, Batch microbatches) {
  const Preparing preparing(*this);
  Copies kept;
  Trouble trouble = attempt([&] { kept.take_before(model_, device_); });
  const bool begun = !trouble.met();
  if (begun) {
    trouble = attempt([&] {
      lane->run(microbatches);
      kept.after_lane = copies(kept.tracked);
    });
    kept.start->restore();
  }
  ++figures_.checks;
  Trouble crowded;
  try {
    eager(microbatches);
  } catch (const std::exception& error) {
    if (!begun || !lacks_memory(error)) throw;
    crowded = {words_of(error), true};
  }
  if (crowded.met()) {  // beside the lane and the copies; without them it is an ordinary step
    kept.start->restore();
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
      const auto tolerance = program::tolerance_of(model_.settings.compute_type);
      if (finite) difference = kept.difference(tolerance);
      near_miss = difference && !kept.difference(with_little(tolerance));
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
  put_away(*lane, cause, short_of_memory + reason, where ? &*where : nullptr);
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
    adopt(plan, 0, "it is the lane that was asked for", number);
  }
}

}  // namespace esper::tolaria
