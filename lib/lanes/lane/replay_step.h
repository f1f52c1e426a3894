#pragma once
// A recorded step, planned and bound to a model's tensors. Training thread.

#include <memory>
#include <span>

#include "lanes/lane/step_inputs.h"
#include "program/replay/replay.h"

namespace esper::lanes {

class ReplayStep {
 public:
  // Plans the replay of a verified program. program: for the example's size.
  ReplayStep(const program::Program& program, const step::Model& model, std::span<const step::Microbatch> example);

  void run(std::span<const step::Microbatch> microbatches);
  void release_intermediates() const { replay_->release_intermediates(); }

 private:
  StepInputs inputs_;  // must outlive the replay, which uses them
  std::unique_ptr<program::Replay> replay_;
};

}  // namespace esper::lanes
