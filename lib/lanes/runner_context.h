#pragma once
// What a step runner's lanes work with: what LaneContext borrows, and what there is one of for all shapes and
// structures of a run. Training thread.

#include <utility>

#include "lanes/runner_services.h"
#include "lanes/shape/compile_queue.h"
#include "lanes/shape/lane_failures.h"

namespace esper::lanes {

struct RunnerContext {
  // Borrows the model.
  RunnerContext(step::Model& model, const config::StepConfig& step_config, torch::Device device,
                RunnerServices runner_services)
      : config(step_config),
        services(std::move(runner_services)),
        capture("step", config.graph.warmup_batches, services.emit),
        context{model, config, device, step::training_forward(model.network), services, figures, capture},
        failures(services, figures),
        queue(services, figures) {}
  RunnerContext(const RunnerContext&) = delete;
  RunnerContext& operator=(const RunnerContext&) = delete;

  const config::StepConfig config;
  RunnerServices services;
  LaneFigures figures;
  GraphCapture capture;
  LaneContext context;
  LaneFailures failures;
  CompileQueue queue;
};

}  // namespace esper::lanes
