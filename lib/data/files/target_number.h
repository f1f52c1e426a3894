#pragma once
// What a target may be that is no class. Any thread.

#include <string>

#include "config/task.h"

namespace esper::data {

// Whether targets are numbers: tasks multilabel and regression.
constexpr bool has_number_targets(config::Task task) {
  return task == config::Task::kMultilabel || task == config::Task::kRegression;
}

// Why a number is no target of such a task: it is not finite, or a label that is neither 0 nor 1. Empty where it is
// one.
std::string target_problem(double value, config::Task task);

}  // namespace esper::data
