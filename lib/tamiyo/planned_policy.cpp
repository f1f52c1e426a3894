#include "tamiyo/planned_policy.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace esper::tamiyo {

namespace {

constexpr char kPeriodicState[] = "slots";

std::string issuer_of(const Plan& plan) {
  return std::visit([](const auto& one) { return std::string("tamiyo.") + one.kName; }, plan);
}

std::vector<Germination> all_of(std::vector<Germination> germinations) { return germinations; }

std::vector<Germination> all_of(const std::optional<Germination>& one) {
  return one ? std::vector{*one} : std::vector<Germination>{};
}

}  // namespace

PlannedPolicy::PlannedPolicy(Plan plan, const config::HeuristicConfig& heuristic, const config::GrowthConfig& growth,
                             int epochs)
    : plan_(std::move(plan)),
      care_({heuristic, growth.gates, growth.training}, issuer_of(plan_)),
      max_seeds_(growth.max_seeds),
      epochs_(epochs) {}

leyline::Decision PlannedPolicy::decide(const leyline::Observation& observation) {
  leyline::Decision decision;
  const auto report = care_.update(observation, decision);
  if (!report) return decision;
  if (observation.is_last || observation.current_epoch >= static_cast<std::uint32_t>(epochs_)) {
    append_reason(decision, "no germination: the run is over");
    return decision;
  }
  Moment moment{report->previous_epoch, observation.current_epoch, observation.slots,
                max_seeds_ - (report->growing - report->pruned)};
  // A growing seed bars it, too, and that may be the one that this decision removes.
  const bool makes_room = report->pruned > 0 && report->pruned == report->growing;
  if (const auto& barred = observation.germination_barred; !barred.empty() && !makes_room) {
    moment.room = 0;
    moment.why_full = barred;
  }
  for (const auto& answer : std::visit([&](auto& plan) { return plan.after(moment); }, plan_)) {
    if (answer) {
      care_.germinate(observation, answer.value().what, answer.value().reason, decision);
    } else {
      append_reason(decision, "no germination: " + answer.error().why);
      if (answer.error().is_missed) decision.warnings.push_back(answer.error().why);
    }
  }
  return decision;
}

std::string PlannedPolicy::save_state() const {
  auto saved = care_json(care_.state());
  if (const auto* plan = std::get_if<PeriodicPlan>(&plan_)) saved[kPeriodicState] = plan->save();
  return saved.dump();
}

void PlannedPolicy::load_state(const std::string& text) {
  read_saved_state(text, [this](const nlohmann::json& saved) {
    auto care = read_care(saved);
    if (auto* plan = std::get_if<PeriodicPlan>(&plan_)) plan->load(saved.at(kPeriodicState));
    care_.restore(std::move(care));
  });
}

std::vector<Germination> PlannedPolicy::next_germinations(const std::vector<leyline::SlotState>& slots) const {
  return std::visit([&](const auto& plan) { return all_of(plan.next(care_.state().last_epoch, slots)); }, plan_);
}

}  // namespace esper::tamiyo
