#pragma once
// One way to run a model's training step, made ready and held in hand. Training thread.

#include <functional>
#include <span>
#include <string>

#include "leyline/config/step_config.h"
#include "tolaria/model.h"
#include "tolaria/train_step.h"

namespace esper::tolaria {

struct PreparedLane {
  leyline::Lane lane = leyline::Lane::kEager;
  std::function<void(std::span<const Microbatch>)> step;  // one optimizer step on the model's state
  double warmup_ms = 0;                                   // what it took to get here
  std::string refusal;                                    // why it cannot be had; empty: step works
};

// Waits until the lane is ready. example: microbatches of the shapes that step() will get. The model outlives the lane;
// making a lane ready leaves the model's state as it was.
PreparedLane prepare_lane(Model& model, leyline::Lane lane, std::span<const Microbatch> example,
                          const leyline::StepConfig& config);

}  // namespace esper::tolaria
