#include "lanes/lane_comparison.h"

#include <algorithm>

#include "device/out_of_memory.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;
using step::train_step;
using step::TrainingForward;

namespace {

std::vector<torch::Tensor> copies(const std::vector<program::Tracked>& tracked) {
  std::vector<torch::Tensor> result;
  for (const program::Tracked& item : tracked) result.push_back(item.tensor.detach().clone());
  return result;
}

// Where a unit of a ReLU or a pooling is on the edge, rounding decides which way it goes, and a whole gradient moves: a
// convolutional network whose inputs were changed by one part in 1e7 differed from itself by up to 8e-3 in one step out
// of six, and by 1e-6 in the others. A wrong program differs in each step. So where no tensor is off by more than this,
// the next steps are compared too.
constexpr double kLittle = 3e-2;

program::Tolerance with_little(program::Tolerance tolerance) {
  return {std::max(tolerance.smooth, kLittle), std::max(tolerance.normalised, kLittle)};
}

}  // namespace

std::string words_of(const std::exception& error) {
  if (std::string lack = device::lack_of_memory(error); !lack.empty()) return lack;
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

void StepCopies::take_before(const Model& model, torch::Device device) {
  tracked_ = tracked_tensors(model);
  before_ = copies(tracked_);
  start_.emplace(model, device);
}

void StepCopies::take_after_lane() { after_lane_ = copies(tracked_); }

std::optional<program::Difference> StepCopies::difference(program::Tolerance tolerance) const {
  std::vector<torch::Tensor> expected;
  for (const program::Tracked& item : tracked_) expected.push_back(item.tensor.detach());
  return program::first_difference(tracked_, before_, expected, after_lane_, tolerance);
}

std::optional<program::Difference> StepCopies::difference(const Model& model) const {
  return difference(program::tolerance_of(model.settings.compute_type));
}

bool StepCopies::is_off_by_little(const Model& model) const {
  return !difference(with_little(program::tolerance_of(model.settings.compute_type)));
}

// A step whose gradients are not finite says nothing about a lane. With fp16 it changes nothing but the scale, so that
// a wrong program would pass; and the lane's rounding may keep it just below the largest number, so that a good one
// would be barred for good. So such a step is no comparison at all, and the next one has its turn. A lane that is not
// finite where eager is differs.
bool last_step_was_finite(const Model& model) { return model.state.figures.figure[step::kFinite].item<float>() != 0; }

Comparison compare_steps(Model& model, FastLane& lane, std::span<const Microbatch> microbatches,
                         const TrainingForward& forward) {
  Comparison result;
  for (int attempt = 0; attempt < kMostNearMisses; ++attempt) {
    StepCopies kept;
    kept.take_before(model, model.state.device);
    lane.run(microbatches);
    kept.take_after_lane();
    kept.restore();
    train_step(model.state, model.settings, microbatches, forward);
    if (!last_step_was_finite(model)) return {Comparison::Kind::kUndecided, {}};
    const auto where = kept.difference(model);
    if (!where) return {};
    result = {Comparison::Kind::kDiffers, where};
    if (!kept.is_off_by_little(model)) break;
  }
  return result;
}

}  // namespace esper::lanes
