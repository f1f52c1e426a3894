#pragma once
// What one training step does, as plain data: the part of a run's configuration that a step reads.

#include <c10/core/ScalarType.h>

#include <cstdint>

#include "config/run_config.h"

namespace esper::step {

// See step/aggregation.h.
struct AggregationSettings {
  config::AggregationConfig config;
  double max_isolation_cosine = 0;
  std::uint64_t run_seed = 0;  // of the order in which conflicts are projected
  int microbatches = 1;        // of a whole step; the last of an epoch may have fewer
};

struct StepSettings {
  config::OptimizerConfig optimizer;  // its lr is not read here: the step reads the tensor that the schedule fills
  double label_smoothing = 0;         // 0 is plain cross entropy
  double clip_norm = 0;               // 0 turns clipping off
  double ema_decay = 0;               // 0 turns the averaged parameters off
  c10::ScalarType compute_type = c10::ScalarType::Float;  // of autocast: Float (off), BFloat16, or Half with loss scale
  AggregationSettings aggregation;
};

inline StepSettings step_settings(const config::RunConfig& config, c10::ScalarType compute_type) {
  const config::TrainingConfig& training = config.training;
  const config::GrowthConfig& growth = config.growth;
  return {training.optimizer, training.label_smoothing,
          training.clip_norm, training.ema_decay,
          compute_type,       {growth.aggregation, growth.isolation.max_cosine, config.seed, config.step.accumulation}};
}

}  // namespace esper::step
