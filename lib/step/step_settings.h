#pragma once
// What one training step does, as plain data: the part of a run's configuration that a step reads.

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "config/run_config.h"
#include "step/rates/parameter_rules.h"

namespace esper::step {

// See step/aggregation.h.
struct AggregationSettings {
  config::AggregationConfig config;
  double max_isolation_cosine = 0;
  std::uint64_t run_seed = 0;  // of the order in which conflicts are projected
  int microbatches = 1;        // of a whole step; the last of an epoch may have fewer
};

// See step/loss.h.
struct LossSettings {
  config::LossKind kind = config::LossKind::kCrossEntropy;
  double label_smoothing = 0;           // 0 is plain cross entropy
  std::vector<double> class_weights{};  // by class or label; empty: 1 for all
  double huber_delta = 1;
};

struct StepSettings {
  config::OptimizerConfig optimizer;  // its lr is not read here: the step reads the tensor that the schedule fills
  LossSettings loss;
  config::GradScalerConfig grad_scaler;
  double clip_norm = 0;                                   // 0 turns clipping off
  double ema_decay = 0;                                   // 0 turns the averaged parameters off
  c10::ScalarType compute_type = c10::ScalarType::Float;  // of autocast: Float (off), BFloat16, Half
  std::optional<bool> has_loss_scale{};                   // as a checkpoint has one or not; empty: where it is Half
  AggregationSettings aggregation;
  // What validation judges by; the step itself goes by the loss.
  config::Task task = config::Task::kClassification;
  config::Metric metric = config::Metric::kAccuracy;
  ParameterRules rules;

  bool scales_loss() const { return has_loss_scale.value_or(compute_type == c10::ScalarType::Half); }
};

inline StepSettings step_settings(const config::RunConfig& config, c10::ScalarType compute_type) {
  const config::TrainingConfig& training = config.training;
  const config::GrowthConfig& growth = config.growth;
  return {training.optimizer,
          {training.loss, training.label_smoothing, training.class_weights, training.huber_delta},
          training.grad_scaler,
          training.clip_norm,
          training.ema_decay,
          compute_type,
          {},
          {growth.aggregation, growth.isolation.max_cosine, config.seed, config.step.accumulation},
          config.task,
          training.metric,
          {training.groups, training.decay_norms_and_biases}};
}

}  // namespace esper::step
