#include "tamiyo/seed_care.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/expected.h"
#include "base/names.h"
#include "leyline/seed_command.h"

namespace esper::tamiyo {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::SeedState;
using leyline::Stage;

namespace {

bool is_growing(Stage stage) { return stage >= Stage::kGerminated && stage <= Stage::kProbationary; }

// Epochs until a step is asked for again that was rejected so often before.
std::uint32_t pause_after(std::uint32_t refusals) {
  constexpr std::uint32_t kLongest = 10;  // 1024 epochs
  return 1U << std::min(refusals, kLongest);
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

void append_reason(Decision& decision, const std::string& sentence) {
  decision.reason += (decision.reason.empty() ? "" : ". ") + sentence;
}

SeedCare::SeedCare(Rules rules, std::string issuer, std::string lost_note)
    : rules_(std::move(rules)), issuer_(std::move(issuer)), lost_note_(std::move(lost_note)) {}

std::optional<CareReport> SeedCare::update(const Observation& observation, Decision& decision) {
  take_back(observation, decision);
  if (const auto usable = check(observation, state_.last_epoch); !usable) {
    append_reason(decision, fmt::format("the observation is unusable: {}; no commands", usable.error()));
    return std::nullopt;
  }
  CareReport report;
  report.previous_epoch = std::exchange(state_.last_epoch, observation.current_epoch);
  if (report.previous_epoch > 0) report.epochs = observation.current_epoch - report.previous_epoch;
  const Epoch epoch{observation, decision, report};
  check_germinations(epoch);
  watch_seeds(epoch);
  for (const auto& seed : observation.seed_states) {
    if (!is_growing(seed.stage)) continue;
    ++report.growing;
    update_seed(seed, epoch);
  }
  return report;
}

void SeedCare::germinate(const Observation& observation, const Germination& what, const std::string& reason,
                         Decision& decision) {
  command(leyline::germination({}, what.slot, what.blueprint), reason, observation, decision);
  if (rules_.training != config::SeedTraining::kStraightThrough) {
    auto start = leyline::seed_command({}, SeedOperation::kStartTraining, {});
    start.seed_operation->slot = what.slot;
    command(std::move(start), "it is part of the network from its first step on", observation, decision);
  }
  append_reason(decision, fmt::format("germinates {} at {}: {}", what.blueprint, what.slot, reason));
  expect(what);
}

void SeedCare::release(const std::string& seed_id) {
  if (const auto found = state_.seeds.find(seed_id); found != state_.seeds.end()) found->second.is_culled = true;
}

// What the last decision asked for and nobody tried counts as neither rejected nor lost.
void SeedCare::take_back(const Observation& observation, Decision& decision) {
  const auto is_held = [&](const std::string& target) { return std::ranges::count(observation.held_back, target) > 0; };
  std::erase_if(state_.asked, [&](const Germination& asked) {
    if (!is_held(asked.slot)) return false;
    append_reason(decision, fmt::format("the germination of {} at {} was held back", asked.blueprint, asked.slot));
    return true;
  });
  for (auto& [id, watch] : state_.seeds) {
    const bool was_asked =
        watch.refusals > 0 && watch.next_ask_epoch == state_.last_epoch + pause_after(watch.refusals - 1);
    if (!was_asked || !is_held(id)) continue;
    --watch.refusals;
    watch.next_ask_epoch = state_.last_epoch;
  }
}

void SeedCare::check_germinations(const Epoch& epoch) {
  for (const Germination& asked : std::exchange(state_.asked, {})) {
    const bool came_up = std::ranges::any_of(epoch.observation.seed_states, [&](const SeedState& seed) {
      return seed.slot == asked.slot && seed.blueprint == asked.blueprint;
    });
    if (came_up) continue;
    append_reason(epoch.decision, fmt::format("{} did not germinate at {}{}", asked.blueprint, asked.slot, lost_note_));
    epoch.report.lost.push_back(asked);
  }
}

void SeedCare::watch_seeds(const Epoch& epoch) {
  const auto& seeds = epoch.observation.seed_states;
  const auto previous = state_.seeds;
  for (const auto& [id, watch] : previous) {
    const auto seen = std::ranges::find(seeds, id, &SeedState::seed_id);
    if (seen != seeds.end() && is_growing(seen->stage)) continue;
    state_.seeds.erase(id);
    if (seen != seeds.end()) {
      append_reason(epoch.decision, id + " has become part of the host");
      epoch.report.has_fossilised = true;
    } else if (!watch.is_culled) {
      append_reason(epoch.decision, id + " was removed without a command" + lost_note_);
      epoch.report.lost.push_back({watch.slot, watch.blueprint});
    }
  }
  for (const auto& seed : seeds) {
    if (is_growing(seed.stage)) watch_seed(seed, epoch);
  }
}

void SeedCare::watch_seed(const SeedState& seed, const Epoch& epoch) {
  const auto epochs = epoch.report.epochs;
  auto& watch = state_.seeds[seed.seed_id];
  if (watch.stage != seed.stage) {
    const bool counts_as_lost = watch.is_culled;
    watch = {};
    watch.slot = seed.slot;
    watch.blueprint = seed.blueprint;
    watch.stage = seed.stage;
    watch.is_culled = counts_as_lost;
  }
  const auto since = watch.stale_epochs + epochs;
  if (has_improved(seed, watch.best_points, since, epoch.observation.validation_changes)) {
    watch.best_points = judged_points(seed);
    watch.stale_epochs = 0;
  } else {
    watch.stale_epochs += std::min(epochs, seed.stage_epochs);
  }
}

void SeedCare::update_seed(const SeedState& seed, const Epoch& epoch) {
  const auto& [observation, decision, report] = epoch;
  auto& watch = state_.seeds.at(seed.seed_id);
  const auto name =
      fmt::format("{} ({} at {}, {})", seed.seed_id, seed.blueprint, seed.slot, base::name_of(seed.stage));
  const auto step = next_step(seed, rules_);
  const auto& changes = observation.validation_changes;
  const auto prune_why = prune_reason(seed, watch.stale_epochs, rules_, changes);
  // A seed that meets its gate's thresholds is not stale; one that does harm goes all the same. Whether gate G1 lets it
  // through is not seen before.
  const bool moves = step.operation && (watch.refusals == 0 || seed.stage != Stage::kGerminated);
  const bool harms = !prune_reason(seed, 0, rules_, changes).empty();
  if (observation.is_last && step.operation != SeedOperation::kFossilize) {
    return append_reason(decision, name + " is unfinished, and the run is over: its evidence decides");
  }
  // At the end the run settles it, with a validation of the network that is left.
  if (!observation.is_last && !prune_why.empty() && (harms || !moves)) {
    command(leyline::seed_command({}, SeedOperation::kCull, seed.seed_id), prune_why, observation, decision);
    append_reason(decision, name + " is pruned: " + prune_why);
    ++report.pruned;
    if (!std::exchange(watch.is_culled, true)) report.lost.push_back({seed.slot, seed.blueprint});
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
  command(leyline::seed_command({}, *step.operation, seed.seed_id), step.reason, observation, decision);
  append_reason(decision, fmt::format("{} command {}: {}", name, base::name_of(*step.operation), step.reason));
  watch.next_ask_epoch = observation.current_epoch + pause_after(watch.refusals);
  ++watch.refusals;
}

void SeedCare::command(leyline::AdaptationCommand command, const std::string& reason, const Observation& observation,
                       Decision& decision) const {
  command.command_id =
      fmt::format("{}-e{}-{}", observation.training_run_id, observation.current_epoch, decision.commands.size() + 1);
  command.issued_at_ns = observation.timestamp_ns;
  command.issued_by = issuer_;
  command.annotations["reason"] = reason;
  decision.commands.push_back(std::move(command));
}

}  // namespace esper::tamiyo
