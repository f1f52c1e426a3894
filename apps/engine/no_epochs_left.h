#pragma once
// What to do with a run that is at its last epoch.

#include <cstdint>
#include <string>

#include "config/run_config.h"

namespace esper::engine {

// "no epochs left to train: the run is at epoch 24 of 24; ..." with the remedy, a command with more epochs,
// or, where its epochs are fixed, a fork of an earlier step.
std::string no_epochs_left(std::uint32_t epoch, const config::RunConfig& config, const std::string& remedy);

}  // namespace esper::engine
