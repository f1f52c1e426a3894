#pragma once
// Counting predictions by plain loops: where outputs lie on the CPU and are few, PyTorch's operators take longer than
// the counting. Any thread.

#include <span>

#include "config/task.h"
#include "step/loss.h"

namespace esper::tolaria {

bool counts_on_host(const step::Prediction& prediction);

// Adds to the sums of FigureSums, in their order: tolaria/evaluation/task_figures.cpp.
void count_on_host(config::Task task, const step::Prediction& prediction, std::span<double> sums);

}  // namespace esper::tolaria
