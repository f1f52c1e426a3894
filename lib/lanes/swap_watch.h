#pragma once
// Measures what a change of the network's structure costs: the swap, and the first steps after it. Training thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "lanes/shape/lane_context.h"

namespace esper::lanes {

class SwapWatch {
 public:
  explicit SwapWatch(const LaneContext& context) : context_(context) {}

  // Begins a measurement before step `number`. prepare_ms: time spent preparing ahead; empty if unprepared.
  void begin(std::int64_t number, std::optional<double> prepare_ms, double swap_us);
  bool is_on() const { return swap_.has_value(); }
  void record_step_time(base::Duration took);
  // Reports the measurement so far and ends it.
  void end();

 private:
  struct Swap {
    std::int64_t number = 0;
    std::optional<double> prepare_ms;
    double swap_us = 0;
    std::vector<double> step_ms;
  };

  const LaneContext& context_;
  std::optional<Swap> swap_;
};

}  // namespace esper::lanes
