#pragma once
// What training one epoch came to, besides the metrics that its steps sum up on the device. Plain data.

#include <cstdint>

#include "device/staging.h"
#include "lanes/lane/lane_figures.h"

namespace esper::tolaria {

// Wall-clock figures are reported, never decided upon.
struct TrainedEpoch {
  double train_ms = 0;         // in this process
  std::int64_t samples = 0;    // rows of the batches trained on in that time; a row of text is data.context characters
  double loader_wait_ms = 0;   // of it, waiting for batches
  device::CopyTimes copies{};  // of batches to the device, as its events measured
  double learning_rate = 0;    // of the last step
  lanes::LaneFigures lanes{};  // of the epochs so far, in this process

  double samples_per_s() const { return train_ms > 0 ? static_cast<double>(samples) / (train_ms / 1000) : 0; }
};

}  // namespace esper::tolaria
