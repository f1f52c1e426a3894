#pragma once
// A scratch model and what runs its steps: with the run's services, and figures that are not reported. Training thread.

#include <memory>

#include "lanes/shape/shape_machine.h"

namespace esper::lanes {

struct ScratchContext {
  // run: the run's own context. Both references must outlive this.
  ScratchContext(const LaneContext& run, LaneFailures& failures, std::unique_ptr<step::Model> scratch);
  ScratchContext(const ScratchContext&) = delete;
  ScratchContext& operator=(const ScratchContext&) = delete;

  const std::unique_ptr<step::Model> model;
  const config::StepConfig config;
  LaneFigures figures;
  const LaneContext context;
  LaneExecutor executor;
  ShapeMachine machine;
};

}  // namespace esper::lanes
