#pragma once
// Whole runs through the real epoch loop: loader, steps, validation, observation, decision, telemetry.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/bench/scratch.h"
#include "leyline/config/run_config.h"
#include "leyline/controller.h"
#include "tolaria/run.h"

namespace esper::engine::bench {

struct LoopFigures {
  std::vector<double> epoch_ms;  // from the end of an epoch's last step to the end of the next one's
  std::vector<double> step_us;   // of every step, in order
  std::vector<double> pause_ms;  // from the end of an epoch's last step to the begin of the next one's first
  std::int64_t steps_per_epoch = 0;
  std::vector<nlohmann::json> packets;  // Tolaria's, one for each epoch, in order
  std::vector<nlohmann::json> events;   // of all packets
};

// Runs config.epochs epochs in a run folder named `name` in the scratch folder. controller: null takes the configured
// one. Throws Error where the run does not finish.
LoopFigures run_loop(const leyline::RunConfig& config, const Scratch& scratch, const std::string& name,
                     std::unique_ptr<leyline::Controller> controller = nullptr);

}  // namespace esper::engine::bench
