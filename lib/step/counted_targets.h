#pragma once
// fp16: a forward may overflow whose step is then skipped. Such a step's loss is in no mean, and its targets are in no
// count. Nothing here reads the device. Training thread.

#include "step/step_state.h"

namespace esper::step {

class CountedTargets {
 public:
  // Before the step's forward. Without a loss scale nothing is done, here or later.
  explicit CountedTargets(const StepState& state);
  // Once the step's targets are counted and its loss, StepFigures' row, is complete: where that is not finite it
  // becomes 0 and the counts become what they were.
  void leave_out_overflow(StepState& state) const;

 private:
  torch::Tensor targets_, correct_;
};

}  // namespace esper::step
