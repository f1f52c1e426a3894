#pragma once
// A run after an epoch as the policy network and the service see it: two free slots, one growing seed.

#include <string>
#include <vector>

#include "leyline/observation.h"
#include "tamiyo/graph/candidates.h"
#include "tamiyo/graph/policy_outputs.h"

namespace esper::tamiyo {

struct DecidedRun {
  leyline::Observation now;
  Candidates candidates;
  PolicyOutputs outputs;

  DecidedRun() {
    using leyline::Stage;
    now.training_run_id = "run";
    now.current_epoch = 3;
    now.timestamp_ns = 1'000;
    now.validation_loss = 0.5;
    now.validation_accuracy = 0.8;
    now.slots = {{"r0c0", Stage::kTraining, {"norm"}},
                 {"r0c1", Stage::kDormant, {"norm", "conv_light"}},
                 {"r0c2", Stage::kDormant, {"conv_light"}}};
    leyline::SeedState seed;
    seed.seed_id = "seed-0001";
    seed.slot = "r0c0";
    seed.blueprint = "norm";
    seed.stage = Stage::kTraining;
    seed.figures.alpha = 0.5;
    now.seed_states = {seed};
    candidates.seeds = {
        {"seed-0001", "r0c0", Stage::kTraining}, {"", "r0c1", Stage::kDormant}, {"", "r0c2", Stage::kDormant}};
    candidates.blueprints = {"norm", "conv_light"};
    candidates.fits = {{}, {0, 1}, {1}};
    outputs.policy_logits.fill(-0.5F);
    outputs.policy_logits[0] = 0.5F;  // as a fresh network has them
    outputs.seed_scores = {0, 0, 0};
    outputs.blueprint_scores = {0, 0};
  }
};

}  // namespace esper::tamiyo
