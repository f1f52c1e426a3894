#include "lanes/shape/step_comparison.h"

#include <algorithm>

#include "device/out_of_memory.h"
#include "device/precision.h"
#include "lanes/lane/failure_text.h"
#include "lanes/shape/step_sensitivity.h"
#include "storage/checksum.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;

namespace {

std::vector<torch::Tensor> copies(const std::vector<program::Tracked>& tracked) {
  std::vector<torch::Tensor> result;
  for (const program::Tracked& item : tracked) result.push_back(item.tensor.detach().clone());
  return result;
}

std::vector<std::uint64_t> checksums(const std::vector<program::Tracked>& tracked) {
  std::vector<std::uint64_t> result;
  for (const program::Tracked& item : tracked) {
    const torch::Tensor values = item.tensor.detach().contiguous();
    result.push_back(storage::hash64({static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()}));
  }
  return result;
}

// Where a unit of a ReLU or a pooling is at a threshold, rounding decides its branch, and a whole gradient changes: a
// convolutional network whose inputs were changed by one part in 1e7 differed from itself by up to 8e-3 in one step out
// of six, and by 1e-6 in the others. A wrong program differs in every step. So if no tensor differs by more than this,
// the next steps are compared too.
constexpr double kLittle = 3e-2;
// Samples of a step whose two highest scores are nearly alike: a small batch has no fiftieth of them.
constexpr double kTies = 2;
// Where products of float32 are computed from shorter numbers: with factors of 11 bits and of 24 a small convolutional
// network's step differed by 3e-2 in the median and by 0.1 at most (docs/decisions/0040). There the comparison in full
// fp32 decides.
constexpr double kLittleInReducedFp32 = 0.2;
// Of the change of all tensors of a kind, as in bf16, whose factors are shorter still.
constexpr double kRoundingInReducedFp32 = 5e-4;

// A difference calls no program wrong where it is at most this factor times what eager's own step differs by after a
// change of its parameters by this part of the tolerance. In networks that had converged until gradients were all
// rounding, right programs differed by 1.1 times as much, or less (docs/decisions/0040).
constexpr double kMostOfSensitivity = 4;
constexpr double kChangeOfTolerance = 0.1;

bool computes_in_reduced_fp32(const Model& model) {
  return model.settings.compute_type == torch::kFloat32 && device::uses_reduced_fp32(model.state.device);
}

program::Tolerance little_for(const Model& model) {
  const program::Tolerance tolerance = program::tolerance_of(model.settings.compute_type);
  const double little = computes_in_reduced_fp32(model) ? kLittleInReducedFp32 : kLittle;
  const double rounding = computes_in_reduced_fp32(model) ? kRoundingInReducedFp32 : tolerance.rounding;
  return {std::max(tolerance.ratio, little), rounding, kTies};
}

}  // namespace

void StepComparison::take_before(const Model& model, torch::Device device) {
  tracked_ = tracked_tensors(model);
  start_.emplace(model, device);
}

void StepComparison::take_after(const Lane& lane) {
  if (lane.key().empty() && tracked_.front().tensor.is_cpu()) {
    checksums_after_lane_ = checksums(tracked_);
  } else {
    copies_after_lane_ = copies(tracked_);
  }
}

std::optional<program::Difference> StepComparison::difference_of_bits() const {
  const auto expected = checksums(tracked_);
  const auto differing = std::ranges::mismatch(expected, checksums_after_lane_).in1;
  if (differing == expected.end()) return std::nullopt;
  return program::Difference{.tensor = tracked_[static_cast<std::size_t>(differing - expected.begin())].name};
}

std::optional<program::Difference> StepComparison::difference_of_values(program::Tolerance tolerance) const {
  std::vector<torch::Tensor> before, expected;
  for (const program::Tracked& item : tracked_) {
    before.push_back(start_->saved(item.tensor));
    expected.push_back(item.tensor.detach());
  }
  return program::first_difference(tracked_, before, expected, copies_after_lane_, tolerance);
}

std::optional<program::Difference> StepComparison::difference(const Model& model) const {
  if (!checksums_after_lane_.empty()) return difference_of_bits();
  return difference_of_values(program::tolerance_of(model.settings.compute_type));
}

bool StepComparison::is_off_by_little(const Model& model) const {
  if (!checksums_after_lane_.empty()) return false;
  return !difference_of_values(little_for(model));
}

double StepComparison::sensitivity(const LaneContext& context, const std::string& tensor, double change,
                                   std::span<const Microbatch> microbatches) const {
  const auto item = std::ranges::find(tracked_, tensor, &program::Tracked::name);
  return step_sensitivity(context, *start_, *item, change, microbatches);
}

// A step whose gradients are not finite cannot judge a lane. With fp16 it changes nothing but the scale, so a wrong
// program would pass; and the lane's rounding may stay just below the largest number, so a good one would be rejected
// permanently. Such a step is not counted as a comparison; the next step is compared instead. A lane that is not finite
// where eager is finite differs.
bool last_step_was_finite(const Model& model) { return model.state.figures.figure[step::kFinite].item<float>() != 0; }

namespace {

// The reason if something failed; empty if it succeeded.
struct Obstacle {
  std::string reason;
  bool of_memory = false;
  bool met() const { return !reason.empty(); }
};

template <class Work>
Obstacle attempt(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    return {describe(error), !device::out_of_memory_message(error).empty()};
  }
}

CheckResult rejected(const Obstacle& obstacle) {
  using Cause = Rejection::Cause;
  if (!obstacle.of_memory) return {CheckResult::Verdict::kRejected, {Cause::kErred, obstacle.reason, {}}};
  return {CheckResult::Verdict::kRejected, {Cause::kNoMemory, obstacle.reason, {}}};
}

// Whether two ways of running a step agree, from the model's state, which is as before afterwards.
bool agree(const LaneContext& context, const Lane& lane, const std::function<void()>& run,
           const std::function<void()>& expected) {
  StepComparison kept;
  kept.take_before(context.model, context.device);
  try {
    run();
    kept.take_after(lane);
    kept.restore();
    expected();
    const bool agreed = last_step_was_finite(context.model) && !kept.difference(context.model);
    kept.restore();
    return agreed;
  } catch (...) {
    kept.restore();
    throw;
  }
}

// Where TF32 rounds factors to 11 bits, two ways of computing the same step differ by some percent of a tensor's
// change: the smallest difference moves some factors to the next number, and units over their thresholds
// (docs/decisions/0040). In full fp32 a right program agrees with eager. A graph, which keeps the precision that it was
// captured in, has to agree with what it was captured from.
bool agrees_in_full_fp32(const LaneContext& context, const Lane& lane, std::span<const Microbatch> microbatches) {
  const auto uncaptured = [&] { lane.run_uncaptured(microbatches); };
  const auto eager = [&] {
    step::train_step(context.model.state, context.model.settings, microbatches, context.forward);
  };
  {
    const device::FullFp32 full(context.device);
    if (!agree(context, lane, uncaptured, eager)) return false;
  }
  return !lane.is_captured() || agree(context, lane, [&] { lane.run(microbatches); }, uncaptured);
}

bool is_sensitive(const LaneContext& context, const StepComparison& kept, const program::Difference& found,
                  std::span<const Microbatch> microbatches) {
  if (found.tolerance == 0) return false;  // bits were compared
  const double change = kChangeOfTolerance * found.tolerance;
  return found.difference <= kMostOfSensitivity * kept.sensitivity(context, found.tensor, change, microbatches);
}

CheckResult rejected(const program::Difference& difference, bool sensitive) {
  using Cause = Rejection::Cause;
  constexpr auto kRejected = CheckResult::Verdict::kRejected;
  if (!sensitive) return {kRejected, {Cause::kErred, "its step differs from eager's", difference}};
  return {kRejected,
          {Cause::kSensitive,
           "its step differs from eager's, which a small change of the parameters changes about as much", difference}};
}

// After eager's step. exact: agrees_in_full_fp32().
CheckResult judge(const LaneContext& context, const StepComparison& kept, bool exact, int& near_misses,
                  std::span<const Microbatch> microbatches) {
  const Model& model = context.model;
  bool finite = true, comes_again = false, sensitive = false;
  std::optional<program::Difference> difference;
  const Obstacle obstacle = attempt([&] {
    finite = last_step_was_finite(model);
    if (finite) difference = kept.difference(model);
    const bool near_miss = difference && kept.is_off_by_little(model);
    if (near_miss && exact) difference.reset();
    if (!difference) return;
    comes_again = near_miss && ++near_misses < kMostNearMisses;
    sensitive = !comes_again && is_sensitive(context, kept, *difference, microbatches);
  });
  if (obstacle.met()) return rejected(obstacle);
  if (!finite || comes_again) return {CheckResult::Verdict::kUndecided};
  if (difference) return rejected(*difference, sensitive);
  near_misses = 0;
  return {};
}

}  // namespace

CheckResult compare_with_eager(const LaneContext& context, Lane& lane, int& near_misses,
                               std::span<const Microbatch> microbatches, const std::function<void()>& eager) {
  const PreparationTime preparing(context);
  bool exact = false;
  if (near_misses > 0 && computes_in_reduced_fp32(context.model)) {
    // Without memory for it there is no such evidence.
    attempt([&] { exact = agrees_in_full_fp32(context, lane, microbatches); });
    lane.release_intermediates();
  }
  StepComparison kept;
  Obstacle obstacle = attempt([&] { kept.take_before(context.model, context.device); });
  const bool begun = !obstacle.met();
  if (begun) {
    obstacle = attempt([&] {
      lane.run(microbatches);
      kept.take_after(lane);
    });
    kept.restore();
    lane.release_intermediates();
  }
  ++context.figures.checks;
  Obstacle crowded;
  try {
    eager();
  } catch (const std::exception& error) {
    if (!begun || device::out_of_memory_message(error).empty()) throw;
    crowded = {describe(error), true};
  }
  if (crowded.met()) {  // beside the lane and the copies; without them it is an ordinary step
    kept.restore();
    kept = {};
    lane.release();
    CheckResult result = rejected(crowded);
    result.eager_is_due = true;
    return result;
  }
  return obstacle.met() ? rejected(obstacle) : judge(context, kept, exact, near_misses, microbatches);
}

}  // namespace esper::lanes
