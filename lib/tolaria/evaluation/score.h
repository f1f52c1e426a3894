#pragma once
// The score of a network on validation data: the run's primary metric (training.metric), by which gates, contributions
// and policies judge. What they call accuracy is the score, and a point is a hundredth of it. Formulas: docs/tasks.md.
//
// A score is the mean over samples of one figure for each, so that the difference between two networks has a standard
// error from pairs:
//   accuracy, top5         the fraction of the sample's targets that are met; multilabel: 1 where all labels are
//   precision, recall, f1  means over classes, not over samples: a sample's figure is the score plus what one more
//                          sample like it would move it by, to first order, times the number of samples
//   r2                     1 minus the sample's squared error over the variance of the targets, meaned over outputs
// No score is below 0: an R2 below counts as 0. The samples' figures are not cut.

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "step/loss.h"

namespace esper::tolaria {

// Whether each sample's figures are kept, too. They change no other value.
enum class PerSample { kNotKept, kKept };

struct Scoring {
  config::Task task = config::Task::kClassification;
  config::Metric metric = config::Metric::kAccuracy;  // one of config::primary_metrics_of(task)
  step::LossSettings loss;                            // class weights and label smoothing do not count here
};
inline Scoring scoring_of(const step::StepSettings& settings) {
  return {settings.task, settings.metric, settings.loss};
}

struct Score {
  double value = 0;         // 0..1
  torch::Tensor by_sample;  // float32 [samples] on the CPU; undefined where they are not kept
};

// The share of the mean square of targets below which their variance is rounding: they are all equal.
inline constexpr double kNoVariance = 1e-12;

inline constexpr std::int64_t kTopRanks = 5;
// A target of a label above it says that the label applies.
inline constexpr double kLikely = 0.5;

// bool [N]: which targets have one of the five largest logits.
torch::Tensor in_top_five(const step::Prediction& prediction);

// Gathers a pass's predictions, of one configuration of the network or of several. Reads the device once, at the end.
class ScoreSums {
 public:
  ScoreSums(const Scoring& scoring, std::int64_t groups, PerSample per_sample, torch::Device device);

  // rows: samples of each group; the prediction has the groups one after another.
  void add(const step::Prediction& prediction, std::int64_t rows);
  // By group. Only after samples were added.
  std::vector<Score> read() const;

 private:
  void add_marks(const torch::Tensor& marks, std::int64_t rows);
  std::vector<Score> read_marks() const;

  Scoring scoring_;
  std::int64_t groups_;
  PerSample per_sample_;
  std::int64_t rows_ = 0, targets_ = 0;  // of each group
  torch::Tensor met_;                    // int64 [groups]: targets
  std::vector<torch::Tensor> by_row_;    // float32 [groups, rows], batch by batch
  std::vector<torch::Tensor> verdicts_,
      truth_;  // [groups, N, ...] and [N, ...], of metrics that are no mean of targets
};

}  // namespace esper::tolaria
