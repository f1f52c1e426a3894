#include "tamiyo/heuristic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/expected.h"
#include "base/names.h"

namespace esper::tamiyo {

using leyline::AdaptationCommand;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::SeedState;
using leyline::SlotState;
using leyline::Stage;

namespace {

constexpr double kForgottenPenalty = 1e-6;

bool is_growing(Stage stage) { return stage >= Stage::kGerminated && stage <= Stage::kProbationary; }

void append_reason(Decision& decision, const std::string& sentence) {
  decision.reason += (decision.reason.empty() ? "" : ". ") + sentence;
}

AdaptationCommand& ask(Decision& decision, const Observation& observation, SeedOperation operation,
                       const std::string& reason) {
  AdaptationCommand command;
  command.command_id =
      fmt::format("{}-e{}-{}", observation.training_run_id, observation.current_epoch, decision.commands.size() + 1);
  command.command_type = leyline::CommandType::kSeed;
  command.issued_at_ns = observation.timestamp_ns;
  command.issued_by = "tamiyo.heuristic";
  command.seed_operation.emplace();
  command.seed_operation->operation = operation;
  command.annotations["reason"] = reason;
  decision.commands.push_back(std::move(command));
  return decision.commands.back();
}

// That an observation can be acted on.
base::Expected<void> check(const Observation& observation, std::uint32_t last_epoch) {
  if (!std::isfinite(observation.validation_accuracy) || observation.validation_accuracy < 0 ||
      observation.validation_accuracy > 1) {
    return base::failure("its validation accuracy is " + number(observation.validation_accuracy));
  }
  if (!std::isfinite(observation.validation_loss)) {
    return base::failure("its validation loss is " + number(observation.validation_loss));
  }
  if (observation.current_epoch <= last_epoch) {
    return base::failure(fmt::format("its epoch {} does not follow epoch {}", observation.current_epoch, last_epoch));
  }
  return {};
}

}  // namespace

HeuristicController::HeuristicController(const config::HeuristicConfig& heuristic, const config::GrowthConfig& growth)
    : rules_{heuristic, growth.gates} {}

Decision HeuristicController::decide(const Observation& observation) {
  Decision decision;
  if (const auto usable = check(observation, state_.last_epoch); !usable) {
    decision.reason = fmt::format("the observation is unusable: {}; no commands", usable.error());
    return decision;
  }
  state_.last_epoch = observation.current_epoch;
  watch_host(observation);
  check_germination(observation, decision);
  watch_seeds(observation, decision);
  int growing = 0;
  for (const auto& seed : observation.seed_states) {
    if (!is_growing(seed.stage)) continue;
    ++growing;
    update_seed(seed, observation, decision);
  }
  if (growing < rules_.heuristic.seeds_at_once) consider_germination(observation, decision);
  return decision;
}

void HeuristicController::watch_host(const Observation& observation) {
  const auto& heuristic = rules_.heuristic;
  const double accuracy = observation.validation_accuracy;
  if (!state_.progress_accuracy || 100 * (accuracy - *state_.progress_accuracy) >= heuristic.plateau_points) {
    state_.progress_accuracy = accuracy;
    state_.epochs_without_progress = 0;
  } else {
    ++state_.epochs_without_progress;
  }
  if (state_.best_loss && !state_.host_stable) {
    // Against the best epoch: recovering from a bad one is no improvement.
    const double gained = *state_.best_loss - observation.validation_loss;
    const bool calm = gained < heuristic.stable_relative_improvement * std::abs(*state_.best_loss);
    state_.calm_epochs = calm ? state_.calm_epochs + 1 : 0;
    state_.host_stable = state_.calm_epochs >= static_cast<std::uint32_t>(heuristic.stable_epochs);
  }
  state_.best_loss = std::min(state_.best_loss.value_or(observation.validation_loss), observation.validation_loss);
  for (auto& [blueprint, penalty] : state_.penalties) penalty *= heuristic.penalty_decay;
  std::erase_if(state_.penalties, [](const auto& entry) { return entry.second < kForgottenPenalty; });
}

void HeuristicController::check_germination(const Observation& observation, Decision& decision) {
  if (!state_.asked_germination) return;
  const auto asked = *state_.asked_germination;
  state_.asked_germination.reset();
  for (const auto& seed : observation.seed_states) {
    if (seed.slot == asked.slot && seed.blueprint == asked.blueprint) return;
  }
  append_reason(decision, asked.blueprint + " did not germinate at " + asked.slot + ": counted as a prune");
  prune(asked.blueprint, asked.slot, observation);
}

void HeuristicController::watch_seeds(const Observation& observation, Decision& decision) {
  const auto previous = state_.seeds;
  for (const auto& [id, watch] : previous) {
    const auto seen = std::find_if(observation.seed_states.begin(), observation.seed_states.end(),
                                   [&, wanted = id](const SeedState& seed) { return seed.seed_id == wanted; });
    if (seen != observation.seed_states.end() && is_growing(seen->stage)) continue;
    state_.seeds.erase(id);
    if (seen != observation.seed_states.end()) {
      append_reason(decision, id + " has become part of the host");
      state_.progress_accuracy = observation.validation_accuracy;
      state_.epochs_without_progress = 0;
    } else {
      append_reason(decision, id + " was removed without a command: counted as a prune");
      prune(watch.blueprint, watch.slot, observation);
    }
  }
  for (const auto& seed : observation.seed_states) {
    if (is_growing(seed.stage)) watch_seed(seed);
  }
}

void HeuristicController::watch_seed(const SeedState& seed) {
  auto& watch = state_.seeds[seed.seed_id];
  if (watch.stage != seed.stage) {
    watch = {};
    watch.slot = seed.slot;
    watch.blueprint = seed.blueprint;
    watch.stage = seed.stage;
  }
  const auto points = judged_points(seed);
  if (points && (!watch.best_points || *points > *watch.best_points)) {
    watch.best_points = points;
    watch.stale_epochs = 0;
  } else if (seed.stage_epochs > 0) {
    ++watch.stale_epochs;
  }
}

void HeuristicController::update_seed(const SeedState& seed, const Observation& observation, Decision& decision) {
  auto& watch = state_.seeds.at(seed.seed_id);
  const auto name =
      fmt::format("{} ({} at {}, {})", seed.seed_id, seed.blueprint, seed.slot, base::name_of(seed.stage));
  const auto step = next_step(seed, rules_);
  const auto prune_why = prune_reason(seed, watch.stale_epochs, rules_);
  // A seed that may move on is not stale; one that does harm goes all the same.
  const bool moves = step.operation && watch.refusals == 0;
  const bool harms = !prune_reason(seed, 0, rules_).empty();
  if (!prune_why.empty() && (harms || !moves)) {
    ask(decision, observation, SeedOperation::kCull, prune_why).target_seed_id = seed.seed_id;
    append_reason(decision, name + " is pruned: " + prune_why);
    state_.seeds.erase(seed.seed_id);
    prune(seed.blueprint, seed.slot, observation);
    return;
  }
  if (!step.operation) {
    append_reason(decision, name + " " + step.reason);
    return;
  }
  if (observation.current_epoch < watch.next_ask_epoch) {
    append_reason(decision, fmt::format("{} was rejected {} times, next attempt after epoch {}", name, watch.refusals,
                                        watch.next_ask_epoch));
    return;
  }
  ask(decision, observation, *step.operation, step.reason).target_seed_id = seed.seed_id;
  append_reason(decision, name + " command " + std::string(base::name_of(*step.operation)) + ": " + step.reason);
  constexpr std::uint32_t kLongestBackOff = 10;  // 1024 epochs
  watch.next_ask_epoch = observation.current_epoch + (1U << std::min(watch.refusals, kLongestBackOff));
  ++watch.refusals;
}

void HeuristicController::prune(const std::string& blueprint, const std::string& slot, const Observation& observation) {
  state_.penalties[blueprint] += rules_.heuristic.penalty_on_prune;
  ++state_.prunes[slot];
  state_.last_prune_epoch = observation.current_epoch;
  state_.progress_accuracy = observation.validation_accuracy;
  state_.epochs_without_progress = 0;
}

base::Expected<void> HeuristicController::check_time(const Observation& observation) const {
  const auto& heuristic = rules_.heuristic;
  const auto epoch = observation.current_epoch;
  if (epoch < static_cast<std::uint32_t>(heuristic.min_epochs_before_germinate)) {
    return base::failure(fmt::format("epoch {} < {}", epoch, heuristic.min_epochs_before_germinate));
  }
  if (!state_.host_stable) {
    return base::failure(fmt::format("the host is not stable yet ({} of {} stable epochs)", state_.calm_epochs,
                                     heuristic.stable_epochs));
  }
  if (state_.last_prune_epoch) {
    const auto over = *state_.last_prune_epoch + static_cast<std::uint32_t>(heuristic.embargo_epochs);
    if (epoch < over) return base::failure(fmt::format("the embargo after the last prune lasts until epoch {}", over));
  }
  if (state_.epochs_without_progress < static_cast<std::uint32_t>(heuristic.plateau_epochs)) {
    return base::failure(fmt::format("no plateau ({} of {} epochs without progress)", state_.epochs_without_progress,
                                     heuristic.plateau_epochs));
  }
  return {};
}

void HeuristicController::consider_germination(const Observation& observation, Decision& decision) {
  if (const auto time = check_time(observation); !time) {
    append_reason(decision, "no germination: " + time.error());
    return;
  }
  const auto* slot = choose_slot(observation.slots);
  if (!slot) {
    append_reason(decision, "no germination: no free slot fits a blueprint with penalty <= " +
                                number(rules_.heuristic.penalty_limit));
    return;
  }
  const auto blueprint = choose_blueprint(*slot);
  const auto penalty = state_.penalties.find(blueprint);
  const auto reason = fmt::format("plateau: {} epochs below {:.4g} points of progress; {} has penalty {:.4g}",
                                  state_.epochs_without_progress, rules_.heuristic.plateau_points, blueprint,
                                  penalty == state_.penalties.end() ? 0 : penalty->second);
  auto& command = ask(decision, observation, SeedOperation::kGerminate, reason);
  command.seed_operation->slot = slot->slot;
  command.seed_operation->blueprint_id = blueprint;
  append_reason(decision, "germinates " + blueprint + " at " + slot->slot + ": " + reason);
  state_.asked_germination = {slot->slot, blueprint};
  state_.epochs_without_progress = 0;  // the next one waits for its own plateau
  ++state_.germinations;
}

std::optional<Germination> HeuristicController::next_germination(const std::vector<SlotState>& slots) const {
  const auto* slot = choose_slot(slots);
  if (!slot) return std::nullopt;
  return Germination{slot->slot, choose_blueprint(*slot)};
}

const SlotState* HeuristicController::choose_slot(const std::vector<SlotState>& slots) const {
  const SlotState* best = nullptr;
  const auto prunes = [&](const SlotState& slot) {
    const auto found = state_.prunes.find(slot.slot);
    return found == state_.prunes.end() ? 0U : found->second;
  };
  for (const auto& slot : slots) {
    if (slot.stage != Stage::kDormant || !has_blueprint(slot)) continue;
    if (!best || prunes(slot) <= prunes(*best)) best = &slot;
  }
  return best;
}

std::string HeuristicController::choose_blueprint(const SlotState& slot) const {
  double lowest = std::numeric_limits<double>::infinity();
  std::vector<std::string> tied;
  for (const auto& blueprint : slot.blueprints) {
    const auto found = state_.penalties.find(blueprint);
    const double penalty = found == state_.penalties.end() ? 0 : found->second;
    if (penalty > rules_.heuristic.penalty_limit || penalty > lowest) continue;
    if (penalty < lowest) tied.clear();
    lowest = penalty;
    tied.push_back(blueprint);
  }
  return tied.empty() ? std::string() : tied[state_.germinations % tied.size()];
}

}  // namespace esper::tamiyo
