#pragma once
// What it takes to hold a lane's step against eager's. Training thread; reads the device.

#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanes/fast_lane.h"
#include "lanes/step_roots.h"
#include "program/check.h"
#include "step/train_step.h"

namespace esper::lanes {

std::string words_of(const std::exception& error);

// What has to be kept to compare one step: before, after the lane, and what the model then holds. May not fit into
// memory.
class StepCopies {
 public:
  void take_before(const step::Model& model, torch::Device device);
  void take_after_lane();
  // The model as it was before, random number generators included.
  void restore() const { start_->restore(); }
  // After eager's step on the model.
  std::optional<program::Difference> difference(const step::Model& model) const;
  bool is_off_by_little(const step::Model& model) const;

 private:
  std::optional<program::Difference> difference(program::Tolerance tolerance) const;

  std::vector<program::Tracked> tracked_;
  std::optional<StepSnapshot> start_;
  std::vector<torch::Tensor> before_, after_lane_;
};

// A comparison that is off by little is made again with the next step, at most so often in a row.
inline constexpr int kMostNearMisses = 6;

// False where the last step says nothing about a lane: its gradients were not finite.
bool last_step_was_finite(const step::Model& model);

struct Comparison {
  enum class Kind { kSame, kDiffers, kUndecided } kind = Kind::kSame;
  std::optional<program::Difference> where;  // kDiffers
};

// On a model that nobody trains: it goes on by as many steps as were compared. What the lane throws passes through.
Comparison compare_steps(step::Model& model, FastLane& lane, std::span<const step::Microbatch> microbatches,
                         const step::TrainingForward& forward);

}  // namespace esper::lanes
