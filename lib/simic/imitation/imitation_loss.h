#pragma once
// How far the network's answers are from what it should answer, with gradients. Training thread.

#include <torch/types.h>

#include <array>
#include <span>
#include <vector>

#include "simic/imitation/lesson_batch.h"
#include "tamiyo/network/head_tensors.h"

namespace esper::simic {

// By action: what a decision for it weighs.
using ActionWeights = std::array<float, tamiyo::kActions>;

// So that each action that was ever decided counts alike where a germination is possible: nearly all decisions are to
// wait, and a network that always waits would be right nearly always. Their mean over the decisions is 1.
ActionWeights balanced_weights(std::span<const Lesson* const> lessons);

// 0-dim, the sum of
//
//   action      cross entropy over the possible actions, each decision by its weight
//   germinated  of the germinations, cross entropy of the slot among the free ones, of the blueprint among those
//               that fit it, and of the curve; squared errors of the blend's length and target
//   hindsight   cross entropy of the level of risk; squared error of the value
//
// each a mean over the decisions that have it.
torch::Tensor imitation_loss(const tamiyo::HeadTensors& heads, const LessonBatch& batch, const ActionWeights& weights);

// imitation_loss() over the decisions of several batches together, as if they were one.
class LossOfBatches {
 public:
  void add(const tamiyo::HeadTensors& heads, const LessonBatch& batch, const ActionWeights& weights);
  double value() const;

 private:
  struct Sum {
    double losses = 0, count = 0;
  };
  Sum action_, germinated_, risk_, value_;
};

// [lessons, kPolicyActions]: 0 for what is possible, very negative else.
torch::Tensor action_mask(const LessonBatch& batch);

// Rows of all seed nodes, or of all blueprint nodes, of what the i-th lesson's germination could have chosen.
torch::Tensor rows_in(const LessonBatch& batch, std::size_t i, tamiyo::NodeType type, const std::vector<int>& rows);

}  // namespace esper::simic
