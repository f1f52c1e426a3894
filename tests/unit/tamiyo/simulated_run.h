#pragma once
// A run without a network: a host whose accuracy stands still, slots, and seeds that obey commands.

#include <algorithm>
#include <string>
#include <vector>

#include "leyline/controller.h"

namespace esper::tamiyo {

struct SimulatedRun {
  using Stage = leyline::Stage;

  // What a blueprint does for accuracy, in points: while it trains, and once it is heard.
  std::map<std::string, double> promise = {{"good", 3.0}, {"bad", -4.0}, {"idle", 0.0}};
  bool refuses_training = false;
  int embargo_epochs = 3;
  leyline::Observation now;
  std::vector<leyline::AdaptationCommand> history;
  int born = 0;

  explicit SimulatedRun(std::vector<std::string> blueprints, int num_slots = 2) {
    now.training_run_id = "sim";
    now.validation_accuracy = 0.80;
    now.validation_loss = 0.5;
    for (int i = 0; i < num_slots; ++i) now.slots.push_back({"r0c" + std::to_string(i), Stage::kDormant, blueprints});
  }

  leyline::SeedState* seed(const std::string& id) {
    for (auto& candidate : now.seed_states) {
      if (candidate.seed_id == id) return &candidate;
    }
    return nullptr;
  }
  leyline::SeedState* holder(const std::string& slot_id) {
    for (auto& candidate : now.seed_states) {
      if (candidate.slot == slot_id) return &candidate;
    }
    return nullptr;
  }
  leyline::SlotState& slot(const std::string& id) {
    return *std::find_if(now.slots.begin(), now.slots.end(), [&](auto& candidate) { return candidate.slot == id; });
  }

  void obey(const leyline::AdaptationCommand& command) {
    history.push_back(command);
    using O = leyline::SeedOperation;
    const auto& wanted = *command.seed_operation;
    if (wanted.operation == O::kGerminate) {
      leyline::SeedState fresh;
      fresh.seed_id = "seed-" + std::to_string(++born);
      fresh.slot = wanted.slot;
      fresh.blueprint = wanted.blueprint_id;
      now.seed_states.push_back(fresh);
      enter(now.seed_states.back(), Stage::kGerminated);
      return;
    }
    auto* target = command.target_seed_id.empty() ? holder(wanted.slot) : seed(command.target_seed_id);
    if (wanted.operation == O::kStartTraining && !refuses_training) enter(*target, Stage::kTraining);
    if (wanted.operation == O::kStartGrafting) enter(*target, Stage::kBlending);
    if (wanted.operation == O::kStabilize) enter(*target, Stage::kShadowing);
    if (wanted.operation == O::kEvaluate) enter(*target, Stage::kProbationary);
    if (wanted.operation == O::kFossilize) enter(*target, Stage::kFossilized);
    if (wanted.operation == O::kCull) {
      slot(target->slot).stage = Stage::kCulled;
      rested[target->slot] = 0;
      now.seed_states.erase(now.seed_states.begin() + (target - now.seed_states.data()));
    }
  }

  void end_epoch() {
    ++now.current_epoch;
    for (auto& place : now.slots) {
      if (place.stage == Stage::kCulled && ++rested[place.slot] >= embargo_epochs) place.stage = Stage::kDormant;
    }
    for (auto& state : now.seed_states) {
      ++state.stage_epochs;
      const double gain = promise.at(state.blueprint);
      state.figures.gradient_ratio = 0.5;
      state.figures.alpha_target = 1;
      state.figures.improvement_points = state.stage == Stage::kTraining ? std::max(gain, 0.6) : gain;
      state.figures.alpha = state.stage == Stage::kBlending ? std::min(1.0, state.stage_epochs / 4.0) : 0;
      if (state.stage == Stage::kShadowing) state.figures.shadow_points = 0;
      if (state.stage == Stage::kProbationary) state.figures.contribution_points = gain;
    }
  }

  leyline::Decision step(leyline::Controller& controller) {
    end_epoch();
    const auto decision = controller.decide(now);
    for (const auto& command : decision.commands) obey(command);
    return decision;
  }

 private:
  void enter(leyline::SeedState& state, Stage stage) {
    state.stage = stage;
    state.stage_epochs = 0;
    state.figures = {};
    slot(state.slot).stage = stage;
  }
  std::map<std::string, int> rested;
};

}  // namespace esper::tamiyo
