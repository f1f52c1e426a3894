#pragma once
// Which losses and figures a task has, and which of two values of a figure is the better one. Any thread.

#include <span>

#include "config/goal.h"
#include "config/task.h"
#include "config/training_config.h"

namespace esper::config {

// The first is the default.
std::span<const LossKind> losses_of(Task task);
// Of a validation pass, kLoss first.
std::span<const Metric> metrics_of(Task task);
// Those of them that may be the primary metric: more is better, and 1 is perfect. The first is the default.
std::span<const Metric> primary_metrics_of(Task task);

bool is_less_better(Metric metric);
Goal goal_of(Metric metric);
// By more than `delta`. NaN is better than nothing and worse than anything.
bool is_better(Metric metric, double value, double than, double delta = 0);

// Whether class_weights apply to a loss.
bool has_class_weights(LossKind loss);

}  // namespace esper::config
