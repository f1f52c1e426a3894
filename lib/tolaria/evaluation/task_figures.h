#pragma once
// All figures of a network on validation data, by task. Formulas: docs/tasks.md. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tolaria/evaluation/score.h"
#include "tolaria/state/run_progress.h"

namespace esper::tolaria {

// Of one class or label, or of all together; 0 where a ratio divides by nothing.
struct ClassFigures {
  double precision = 0, recall = 0, f1 = 0;
  std::int64_t targets = 0, predictions = 0;  // how many are of it
};

struct TaskFigures {
  MetricValues by_metric;             // those that the task has, the loss with them
  std::vector<ClassFigures> classes;  // by class or label; empty for regression and language
  // Classification with at most kMostConfused classes: [classes * classes], how many targets of class i were taken for
  // class j at i * classes + j.
  std::vector<std::int64_t> confusion;
  std::optional<ClassFigures> micro;  // multilabel: of all labels together
  std::optional<double> rmse;         // regression
};

inline constexpr std::int64_t kMostConfused = 1000;

// Gathers a pass's predictions. They wait on the device until there are enough to be counted in few operations, so that
// a batch costs no more than keeping it; few outputs on the CPU are counted at once.
class FigureSums {
 public:
  // target_deviation: of each target of a regression where they are standardised, so that MAE and RMSE are in the
  // data's units; else empty.
  FigureSums(const Scoring& scoring, torch::Device device, std::vector<float> target_deviation = {})
      : scoring_(scoring), device_(device), target_deviation_(std::move(target_deviation)) {}

  void add(const step::Prediction& prediction);
  // Reads the device. loss: of the pass. Only after predictions were added.
  TaskFigures read(double loss);

 private:
  void count_waiting();

  Scoring scoring_;
  torch::Device device_;
  std::vector<float> target_deviation_;
  std::vector<step::Prediction> waiting_;
  std::int64_t waiting_numbers_ = 0;
  std::int64_t targets_ = 0, outputs_ = 0;  // rows and columns of all predictions
  torch::Tensor sums_;                      // float64; what they are: the task's
};

}  // namespace esper::tolaria
