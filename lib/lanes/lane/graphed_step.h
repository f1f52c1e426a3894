#pragma once
// A step of fixed shapes as a CUDA graph over its own buffers. Training thread.

#include <c10/core/Event.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lanes/lane/lane_figures.h"
#include "lanes/lane/step_external_tensors.h"
#include "program/capture.h"

namespace esper::lanes {

class GraphedStep {
 public:
  using Step = std::function<void(std::span<const step::Microbatch>)>;

  // Warms up and captures `step` on copies of the example, then restores what the step changed. `figures` is shared
  // with the owner. Throws program::CaptureFailure.
  GraphedStep(const step::Model& model, std::span<const step::Microbatch> example, torch::Device device, int warm_ups,
              const Step& step, std::shared_ptr<GraphFigures> figures);
  GraphedStep(const GraphedStep&) = delete;
  GraphedStep& operator=(const GraphedStep&) = delete;

  // Copies the batch into the buffers and replays the graph on the current stream. The shapes must be the example's.
  void run(std::span<const step::Microbatch> microbatches);

 private:
  // Events of one replay in sixty-four; queried when the next sample is due.
  struct Sample {
    explicit Sample(c10::DeviceType type);
    c10::Event begin, staged, end;
    bool taken = false;
  };
  void read_sample();
  void stage(std::span<const step::Microbatch> microbatches);

  torch::Device device_;
  std::vector<step::Microbatch> buffers_;
  std::unique_ptr<program::Capture> capture_;
  std::shared_ptr<GraphFigures> figures_;
  Sample sample_;
  std::int64_t runs_ = 0;
};

}  // namespace esper::lanes
