#pragma once
// The results of training one epoch, besides the metrics that its steps sum up on the device. Plain data.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "device/staging.h"
#include "lanes/lane/lane_figures.h"

namespace esper::tolaria {

// Wall-clock times are only reported, never used for decisions.
struct TrainedEpoch {
  double train_ms = 0;                  // in this process
  std::int64_t samples = 0;             // rows trained on in that time; for text, a row is data.context characters
  double loader_wait_ms = 0;            // part of it, waiting for batches
  device::CopyTimes copies{};           // of batches to the device, from its events
  std::string pinned_refusal{};         // why batches lie in pageable memory, though page-locked memory was asked for
  std::optional<double> utilization{};  // of the GPU at its end, 0..1: device/utilization.h
  double learning_rate = 0;             // of the last step
  std::map<std::string, double> learning_rates{};  // of the same step, by parameter group; empty: all as the run's
  lanes::LaneFigures lanes{};                      // of the epochs so far, in this process

  double samples_per_s() const { return train_ms > 0 ? static_cast<double>(samples) / (train_ms / 1000) : 0; }
};

}  // namespace esper::tolaria
