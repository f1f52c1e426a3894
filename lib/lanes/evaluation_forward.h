#pragma once
// The network's forward in evaluation mode, as validation runs it: for each shape of inputs once as it is, once
// recorded, once compared, and from then on replayed, on a GPU as a CUDA graph. Never compiled: whatever the lane of
// the steps, validation has eager's bits (on a GPU with device.deterministic, else what cuDNN's choice of kernels
// makes of them). Training thread.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/step_config.h"
#include "lanes/lane/graph_capture.h"
#include "lanes/lane/lane_figures.h"
#include "lanes/lane/replayed_forward.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "step/model.h"

namespace esper::lanes {

struct TensorForm {
  std::vector<std::int64_t> sizes, strides;
  torch::ScalarType type{};
};

class EvaluationForward {
 public:
  // Borrows the model. emit: receives tolaria.lane_refused, and what GraphCapture reports.
  EvaluationForward(const step::Model& model, const config::StepConfig& config, torch::Device device,
                    std::function<void(leyline::TelemetryEvent)> emit);

  // In inference mode, under the caller's autocast; the output is the caller's. Seeds have the alphas that the network
  // has: not under a kasmina::AlphaOverride.
  torch::Tensor operator()(const torch::Tensor& inputs);

  // Between two passes, after the network may have changed: drops what is of another structure, with its memory.
  void take_structure();

  // Batches so far, by Lane.
  const LaneCounts& batches() const { return batches_; }

 private:
  struct Shape {
    enum class Phase { kNew, kSeen, kRecorded, kReplayed, kEager } phase = Phase::kNew;
    TensorForm inputs{};
    TensorForm output{};  // from kSeen on
    std::unique_ptr<ReplayedForward> replayed{};
  };

  Shape& shape_of(const torch::Tensor& inputs);
  torch::Tensor run_eager(const torch::Tensor& inputs);
  torch::Tensor run_first(Shape& shape, const torch::Tensor& inputs);
  torch::Tensor record(Shape& shape, const torch::Tensor& inputs);
  torch::Tensor compare(Shape& shape, const torch::Tensor& inputs);
  torch::Tensor replay(Shape& shape, const torch::Tensor& inputs);
  void refuse(Shape& shape, const std::string& reason) const;

  const step::Model& model_;
  config::Lane lane_;
  torch::Device device_;
  std::function<void(leyline::TelemetryEvent)> emit_;
  GraphCapture capture_;
  std::uint64_t structure_ = 0;  // version, of the shapes
  std::vector<Shape> shapes_;
  LaneCounts batches_{};
};

}  // namespace esper::lanes
