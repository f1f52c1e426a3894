#pragma once
// From one choice to the policy's decision: commands, a reason and the figures. Pure functions.

#include <string>

#include "config/growth_config.h"
#include "leyline/command.h"
#include "leyline/observation.h"
#include "tamiyo/decision/choice.h"

namespace esper::tamiyo {

struct CommandSettings {
  std::string issuer = "tamiyo.gnn";
  config::SeedTraining training = config::SeedTraining::kBlended;  // growth.training
};

// `choice` was made from these candidates and this observation. Command ids are "<run>-e<epoch>-<n>".
leyline::Decision decision_of(const Choice& choice, const Candidates& candidates,
                              const leyline::Observation& observation, const CommandSettings& settings);

}  // namespace esper::tamiyo
