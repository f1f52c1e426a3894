#pragma once
// The network's forward in evaluation mode for inputs of one shape: recorded, replayed, on a GPU as a CUDA graph.
// Training thread.

#include <memory>

#include "base/expected.h"
#include "lanes/lane/graph_capture.h"
#include "program/replay/replay.h"
#include "step/model.h"

namespace esper::lanes {

class ReplayedForward {
 public:
  // Records the forward of these inputs as it runs, under the caller's autocast. output: of the form of the forward's
  // output, which it receives in any case. Fails with the reason if the forward cannot be recorded, or writes a buffer.
  static base::Expected<std::unique_ptr<ReplayedForward>> record(const step::Model& model, const torch::Tensor& inputs,
                                                                 const torch::Tensor& output);
  ReplayedForward(const ReplayedForward&) = delete;
  ReplayedForward& operator=(const ReplayedForward&) = delete;

  // From now on as a graph, if it can be captured; a failure is reported by `capture`.
  void capture(GraphCapture& capture, torch::Device device);
  bool is_graph() const { return graph_ != nullptr; }

  // The result is overwritten by the next run.
  const torch::Tensor& run(const torch::Tensor& inputs);

 private:
  ReplayedForward() = default;
  void replay() const;

  torch::Tensor inputs_;  // of the graph, which computes from a place of its own; else those of the last run
  torch::Tensor output_;
  std::size_t moving_ = 0;  // the program's input that is the batch
  std::unique_ptr<program::Replay> replay_;
  std::unique_ptr<program::Capture> graph_;  // has addresses of what is above
};

}  // namespace esper::lanes
