#pragma once
// For drills and tests: memory for tensors on the CPU that runs out where a fault point says so.

namespace esper::device {

// Where a point is armed, each allocation of the process hits device.allocation, and one within a FailingSteps scope of
// its thread hits step.allocation, too; one where a point fires throws what PyTorch's allocator throws if the machine
// has no memory left. Else nothing changes. Before other threads allocate.
void install_failing_allocator_if_armed();

class FailingSteps {
 public:
  FailingSteps() { in_step_ = true; }
  ~FailingSteps() { in_step_ = false; }
  FailingSteps(const FailingSteps&) = delete;
  FailingSteps& operator=(const FailingSteps&) = delete;

  static bool in_step() { return in_step_; }

 private:
  static thread_local bool in_step_;
};

}  // namespace esper::device
