#pragma once
// Captures steps, or forwards of validation, as CUDA graphs. Capturing is disabled after two failures with the same
// structure of the network, or six lacks of memory. Training thread.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lanes/lane/graphed_step.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper::lanes {

class GraphCapture {
 public:
  // of: what is captured, for events: "step", "validation". warm_ups: runs of it before. emit: receives
  // tolaria.graph_fallback and tolaria.graph_disabled_after_failures.
  GraphCapture(std::string of, int warm_ups, std::function<void(leyline::TelemetryEvent)> emit)
      : of_(std::move(of)), warm_ups_(warm_ups), emit_(std::move(emit)) {}

  // True if the device supports graphs and capturing is not disabled.
  bool may(torch::Device device) const;
  // The network has another structure: what failed before may succeed.
  void forget_failures() { failures_ = lacks_of_memory_ = 0; }
  // The step as a graph; null if the capture failed, which is then reported. The model is unchanged.
  std::shared_ptr<GraphedStep> capture(const step::Model& model, std::span<const step::Microbatch> example,
                                       torch::Device device, const GraphedStep::Step& step);
  // The same of a function that changes no state.
  std::unique_ptr<program::Capture> capture(torch::Device device, const std::function<void()>& function);
  const GraphFigures& figures() const { return *figures_; }

 private:
  // What `make` makes; null if that fails.
  template <class Make>
  auto attempt(torch::Device device, const Make& make) -> decltype(make());

  std::string of_;
  int warm_ups_;
  std::function<void(leyline::TelemetryEvent)> emit_;
  std::int64_t failures_ = 0, lacks_of_memory_ = 0;                           // with this structure
  std::shared_ptr<GraphFigures> figures_ = std::make_shared<GraphFigures>();  // the graphs update it
};

}  // namespace esper::lanes
