#include "tamiyo/heuristic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "tamiyo/growth_forecast.h"

namespace esper::tamiyo {

using leyline::Decision;
using leyline::Observation;
using leyline::SlotState;
using leyline::Stage;

namespace {

constexpr double kForgottenPenalty = 1e-6;

double mean_with(const std::vector<double>& before, double last) {
  return std::accumulate(before.begin(), before.end(), last) / static_cast<double>(before.size() + 1);
}

// Without figures of the samples the means decide.
bool is_shown(const leyline::ValidationChange* change) { return change == nullptr || shows_improvement(*change); }

// Keeps the last `most`.
void remember(std::vector<double>& values, double value, int most) {
  values.push_back(value);
  if (values.size() > static_cast<std::size_t>(most)) values.erase(values.begin());
}

}  // namespace

HeuristicController::HeuristicController(const config::HeuristicConfig& heuristic, const config::GrowthConfig& growth,
                                         int epochs)
    : heuristic_(heuristic),
      horizon_{epochs, shortest_life(growth)},
      care_({heuristic, growth.gates, growth.training}, "tamiyo.heuristic", ": counted as a prune") {}

std::string HeuristicController::save_state() const {
  auto saved = care_json(care_.state());
  saved.update(heuristic_json(state_));
  return saved.dump();
}

void HeuristicController::load_state(const std::string& text) {
  read_saved_state(text, [this](const nlohmann::json& saved) {
    auto care = read_care(saved);
    state_ = read_heuristic(saved);
    care_.restore(std::move(care));
  });
}

Decision HeuristicController::decide(const Observation& observation) {
  Decision decision;
  const auto report = care_.update(observation, decision);
  if (!report) return decision;
  watch_host(observation, report->epochs);
  count_losses(*report, observation);
  if (report->growing < heuristic_.seeds_at_once) consider_germination(observation, decision);
  remember(state_.losses, observation.validation_loss, heuristic_.window_epochs - 1);
  remember(state_.accuracies, observation.validation_accuracy, heuristic_.window_epochs - 1);
  return decision;
}

void HeuristicController::watch_host(const Observation& observation, std::uint32_t epochs) {
  const double accuracy = mean_with(state_.accuracies, observation.validation_accuracy);
  const double loss = mean_with(state_.losses, observation.validation_loss);
  const auto& changes = observation.validation_changes;
  const bool gained_points =
      state_.progress_accuracy && 100 * (accuracy - *state_.progress_accuracy) >= heuristic_.plateau_points;
  const bool progressed = gained_points && is_shown(change_over(changes, state_.epochs_without_progress + epochs));
  if (!state_.progress_accuracy || progressed) {
    state_.progress_accuracy = accuracy;
    state_.epochs_without_progress = 0;
  } else {
    state_.epochs_without_progress += epochs;
  }
  if (state_.best_loss && !state_.host_stable) {
    // Against the best epoch: recovering from a bad one is no improvement.
    const double gained = *state_.best_loss - loss;
    const bool large = gained >= heuristic_.stable_relative_improvement * std::abs(*state_.best_loss);
    const bool calm = !large || !is_shown(change_over(changes, static_cast<std::uint32_t>(changes.size())));
    state_.calm_epochs = calm ? state_.calm_epochs + epochs : 0;
    state_.host_stable = state_.calm_epochs >= static_cast<std::uint32_t>(heuristic_.stable_epochs);
  }
  state_.best_loss = std::min(state_.best_loss.value_or(loss), loss);
  for (auto& [blueprint, penalty] : state_.penalties) penalty *= std::pow(heuristic_.penalty_decay, epochs);
  std::erase_if(state_.penalties, [](const auto& entry) { return entry.second < kForgottenPenalty; });
}

void HeuristicController::count_losses(const CareReport& report, const Observation& observation) {
  for (const auto& lost : report.lost) {
    state_.penalties[lost.blueprint] += heuristic_.penalty_on_prune;
    ++state_.prunes[lost.slot];
    state_.last_prune_epoch = observation.current_epoch;
  }
  if (report.lost.empty() && !report.has_fossilised) return;
  state_.progress_accuracy = mean_with(state_.accuracies, observation.validation_accuracy);
  state_.epochs_without_progress = 0;
}

base::Expected<void> HeuristicController::check_time(const Observation& observation) const {
  const auto epoch = observation.current_epoch;
  if (epoch < static_cast<std::uint32_t>(heuristic_.min_epochs_before_germinate)) {
    return base::failure(fmt::format("epoch {} < {}", epoch, heuristic_.min_epochs_before_germinate));
  }
  if (!observation.germination_barred.empty()) return base::failure(observation.germination_barred);
  if (auto guards = check_guards({observation, heuristic_, horizon_, state_.losses}); !guards) return guards;
  if (!state_.host_stable) {
    return base::failure(fmt::format("the host is not stable yet ({} of {} stable epochs)", state_.calm_epochs,
                                     heuristic_.stable_epochs));
  }
  if (state_.last_prune_epoch) {
    const auto over = *state_.last_prune_epoch + static_cast<std::uint32_t>(heuristic_.embargo_epochs);
    if (epoch < over) return base::failure(fmt::format("the embargo after the last prune lasts until epoch {}", over));
  }
  if (state_.epochs_without_progress < static_cast<std::uint32_t>(heuristic_.plateau_epochs)) {
    return base::failure(fmt::format("no plateau ({} of {} epochs without progress)", state_.epochs_without_progress,
                                     heuristic_.plateau_epochs));
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
    append_reason(decision,
                  "no germination: no free slot fits a blueprint with penalty <= " + number(heuristic_.penalty_limit));
    return;
  }
  const auto blueprint = choose_blueprint(*slot);
  const auto expected = forecast({observation, *slot, blueprint}, horizon_);
  const bool must_pay = heuristic_.min_share_left > 0;
  if (!expected && must_pay) return append_reason(decision, "no germination: " + expected.error());
  const auto penalty = state_.penalties.find(blueprint);
  const auto reason =
      fmt::format("plateau: {} epochs below {:.4g} points of progress; {} has penalty {:.4g}; {}",
                  state_.epochs_without_progress, heuristic_.plateau_points, blueprint,
                  penalty == state_.penalties.end() ? 0 : penalty->second, expected ? *expected : expected.error());
  care_.germinate(observation, {slot->slot, blueprint}, reason, decision);
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
    if (penalty > heuristic_.penalty_limit || penalty > lowest) continue;
    if (penalty < lowest) tied.clear();
    lowest = penalty;
    tied.push_back(blueprint);
  }
  return tied.empty() ? std::string() : tied[state_.germinations % tied.size()];
}

}  // namespace esper::tamiyo
