#pragma once
// The validation pass: loss, score and all figures of the task on samples that are not trained on. Training thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "step/train_step.h"
#include "tolaria/evaluation/score.h"
#include "tolaria/evaluation/task_figures.h"
#include "tolaria/state/control_record.h"

namespace esper::tolaria {

struct ValidationResult {
  double loss = 0;            // mean over target elements, without label smoothing and class weights
  double score = 0;           // 0..1: tolaria/evaluation/score.h
  TaskFigures figures{};      // Figures::kAll
  std::int64_t targets = 0;   // one per sample; for text, one per character; else one per label, number or pixel
  std::int64_t samples = 0;   // rows of the batches; for text, sequences
  bool complete = true;       // false: should_stop ended it early; the values are partial
  SampleFigures by_sample{};  // PerSample::kKept
};

// As a run's progress keeps them.
inline EpochFigures figures_of(const ValidationResult& result) {
  return {result.loss, result.score, result.figures.by_metric};
}

// What is measured besides the loss.
enum class Figures { kScore, kAll };

// The next batch; empty at the end.
using NextBatch = std::function<std::optional<step::Microbatch>()>;

struct Validation {
  torch::Device device = torch::kCPU;
  torch::ScalarType compute_type = torch::kFloat32;  // of autocast, as in StepSettings
  std::function<bool()> should_stop;                 // polled before each batch; may be empty
  PerSample per_sample = PerSample::kNotKept;
  Scoring scoring{};
  Figures figures = Figures::kAll;
  std::vector<float> target_deviation{};  // as FigureSums takes it
};

// forward: the network in evaluation mode. It runs in inference mode; next_batch runs outside of it, since tensors made
// in inference mode cannot be trained on. Reads the device at the end only. Without batches, samples is 0.
ValidationResult validate(const NextBatch& next_batch, const step::Forward& forward, const Validation& validation);

}  // namespace esper::tolaria
