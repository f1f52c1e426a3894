#pragma once
// What lanes need of a run, around a small model whose step is not compiled.

#include <ATen/Parallel.h>

#include <memory>
#include <utility>
#include <vector>

#include "support/models/lane_cases.h"

namespace esper::tests {

struct LaneParts {
  LaneCase c = lane_cases().front();
  std::unique_ptr<step::Model> model = make_model(c);
  config::StepConfig config;
  std::vector<leyline::TelemetryEvent> events;
  lanes::LaneServices services;
  lanes::LaneFigures figures;
  lanes::GraphCapture capture{"step", 0, [](const leyline::TelemetryEvent&) {}};
  lanes::LaneContext context{*model,   config,  torch::kCPU, step::training_forward(model->network),
                             services, figures, capture};

  LaneParts() {
    at::set_num_threads(1);
    services.emit = [this](leyline::TelemetryEvent event) { events.push_back(std::move(event)); };
  }
  LaneParts(const LaneParts&) = delete;
  LaneParts& operator=(const LaneParts&) = delete;
};

}  // namespace esper::tests
