#pragma once
// The policies that germinate by a plan: periodic, random and schedule. Their seeds are taken through the stages by the
// same rules as the heuristic's (seed_care.h); only when, where and what to germinate differs.

#include <string>
#include <variant>
#include <vector>

#include "config/growth_config.h"
#include "config/policy_config.h"
#include "leyline/controller.h"
#include "tamiyo/periodic_plan.h"
#include "tamiyo/random_plan.h"
#include "tamiyo/schedule_plan.h"
#include "tamiyo/seed_care.h"

namespace esper::tamiyo {

using Plan = std::variant<PeriodicPlan, RandomPlan, SchedulePlan>;

class PlannedPolicy final : public leyline::Controller {
 public:
  // epochs: of the run.
  PlannedPolicy(Plan plan, const config::HeuristicConfig& heuristic, const config::GrowthConfig& growth, int epochs);

  // The same observations give the same decisions.
  leyline::Decision decide(const leyline::Observation& observation) override;
  std::string save_state() const override;
  void load_state(const std::string& text) override;

  // What it germinates next, all at one epoch's end, were these slots free then; nothing where none of them fits.
  std::vector<Germination> next_germinations(const std::vector<leyline::SlotState>& slots) const;

 private:
  Plan plan_;
  SeedCare care_;
  int max_seeds_, epochs_;
};

}  // namespace esper::tamiyo
