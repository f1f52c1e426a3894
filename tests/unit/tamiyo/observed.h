#pragma once
// Observations as graphs are made from.

#include <string>

#include "leyline/observation.h"
#include "leyline/slot_id.h"

namespace esper::tamiyo {

inline leyline::BlockState dense_block(int number, const std::string& slot) {
  leyline::BlockState block;
  block.id = "host.block" + std::to_string(number);
  block.slot = slot;
  block.kind = leyline::BlockKind::kDense;
  block.activation = leyline::ActivationKind::kRelu;
  block.params = 1000;
  block.activation_units = 64 >> (number % 6);
  block.dropout = 0.1;
  return block;
}

inline leyline::BlockState head_block() {
  leyline::BlockState block;
  block.id = "host.head";
  block.kind = leyline::BlockKind::kHead;
  block.params = 650;
  return block;
}

inline leyline::SeedState training_seed(int number, const std::string& slot) {
  leyline::SeedState seed;
  seed.seed_id = "seed-" + std::to_string(number);
  seed.slot = slot;
  seed.blueprint = "lora";
  seed.stage = leyline::Stage::kTraining;
  seed.gradient_norm = 0.5F;
  seed.learning_rate = 0.01F;
  seed.age_epochs = 2;
  seed.figures.contribution_points = 0;  // as likely to harm as to help
  seed.figures.contribution_stderr_points = 1;
  return seed;
}

inline leyline::SlotState empty_slot(const std::string& id) {
  return {.slot = id, .blueprints = {"lora", "norm"}, .step_costs = {0.25, 1.0}, .parameters = {1000, 129}};
}

inline leyline::Observation observed_epoch() {
  leyline::Observation seen;
  seen.current_epoch = 4;
  seen.num_epochs = 20;
  seen.global_step = 400;
  seen.training_loss = 0.7;
  seen.validation_loss = 0.9;
  seen.training_metrics = {{"loss", 0.6}, {"gradient_norm", 2.0}, {"samples_per_s", 5000.0}};
  seen.parameters = {{"alpha_ticks", 1, 20, 5}, {"alpha_target", 0.05, 1, 1}};
  return seen;
}

// A host of two dense blocks and a head; a seed trains behind the first block, the slot behind the second is empty.
inline leyline::Observation observed_run() {
  auto seen = observed_epoch();
  seen.seed_states = {training_seed(1, "r0c0")};
  seen.slots = {{.slot = "r0c0", .stage = leyline::Stage::kTraining, .blueprints = {"lora", "norm"}},
                empty_slot("r0c1")};
  seen.blocks = {dense_block(0, "r0c0"), dense_block(1, "r0c1"), head_block()};
  return seen;
}

// A block for each slot; behind the first `live` of them seeds train, the next `empty` are empty.
inline leyline::Observation observed_many(int live, int empty) {
  auto seen = observed_epoch();
  for (int i = 0; i < live + empty; ++i) {
    const auto slot = leyline::slot_id_of(static_cast<std::size_t>(i));
    seen.blocks.push_back(dense_block(i, slot));
    seen.slots.push_back(empty_slot(slot));
    if (i >= live) continue;
    seen.slots.back().stage = leyline::Stage::kTraining;
    seen.seed_states.push_back(training_seed(i, slot));
    seen.seed_states.back().layer_depth = static_cast<std::uint32_t>(i);
  }
  return seen;
}

}  // namespace esper::tamiyo
