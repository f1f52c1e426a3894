#pragma once
// One lane by itself, made ready at once: for benchmarks and tests of lanes. A run uses StepRunner. Training thread.

#include <functional>
#include <span>
#include <string>

#include "config/step_config.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "program/compile_service.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

struct PreparedLane {
  config::Lane lane = config::Lane::kEager;
  std::function<void(std::span<const step::Microbatch>)>
      step;              // one training step of microbatches shaped like the example
  double warmup_ms = 0;  // until it was ready, compilation included
  std::string recipe;    // how the compiled program was lowered
  std::string refusal;   // the reason if there is no step; else empty
};

// Waits until the lane is ready; the model's state is unchanged. compile_service: for lane compiled; null refuses that
// lane. Its mode of compiling applies. The model and the service must outlive the lane. config: warm-ups and the
// settings of lane auto, as in a run; its `lane` is ignored. emit: receives tolaria.compile_waiting, as from
// wait_for_program().
PreparedLane prepare_lane(
    step::Model& model, config::Lane lane, std::span<const step::Microbatch> example,
    program::CompileService* compile_service, const config::StepConfig& config = {},
    const std::function<void(leyline::TelemetryEvent)>& emit = [](auto) {});

}  // namespace esper::lanes
