#pragma once
// Passes over a run's validation data. Training thread. A signal ends a pass early; its result is then incomplete.

#include <functional>
#include <vector>

#include "tolaria/evaluation/evaluation.h"
#include "tolaria/evaluation/stacked_validation.h"
#include "tolaria/evaluation/validate.h"

namespace esper::tolaria {

// Evaluates the network as it is. forward: of this model, not under a kasmina::AlphaOverride; null: as written.
ValidationResult validation_pass(const step::Model& model, data::Loader& loader, torch::Device device,
                                 PerSample samples = PerSample::kNotKept, Figures figures = Figures::kAll,
                                 lanes::EvaluationForward* forward = nullptr);

// Evaluates many configurations of it at once. should_stop may be empty; it is polled in addition to signals.
StackedResult stacked_pass(const Evaluation& evaluation, const std::vector<kasmina::Configuration>& configurations,
                           const std::function<bool()>& should_stop);

}  // namespace esper::tolaria
