#pragma once
// Whether training stops early. Any thread.

#include <cstdint>

#include "config/training_config.h"

namespace esper::config {

// After so many epochs in a row whose training.early_stop_metric was not better.
constexpr bool stops_early(const TrainingConfig& training, std::int64_t epochs_without_better) {
  return training.early_stop_epochs > 0 && epochs_without_better >= training.early_stop_epochs;
}

}  // namespace esper::config
