#pragma once
// The rule-based policy (after reference 3.6). When the host is stable, its accuracy is on a plateau, and no
// guard prevents growing now (growth_guards.h), it grows one seed, takes it stage by stage as far as its measurements
// allow, and prunes what does not help. Plateau and stability are those of means over a window of epochs, and count
// only improvements that are shown over the validation samples, where these were measured. What is begun has a forecast
// (growth_forecast.h).
//
// One seed grows at a time, so that what changes can be put down to it. The slot is the free one with the fewest
// prunes, of those the one nearest the output. The blueprint is the slot's one with the lowest penalty; ties rotate.
// A rejected germination counts as a prune. Its seeds are taken through their stages by seed_care.h.

#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "config/growth_config.h"
#include "config/policy_config.h"
#include "leyline/controller.h"
#include "tamiyo/growth_guards.h"
#include "tamiyo/heuristic_state.h"
#include "tamiyo/seed_care.h"

namespace esper::tamiyo {

class HeuristicController final : public leyline::Controller {
 public:
  // epochs: of the run.
  HeuristicController(const config::HeuristicConfig& heuristic, const config::GrowthConfig& growth, int epochs);

  // The same observations give the same decisions.
  leyline::Decision decide(const leyline::Observation& observation) override;
  std::string save_state() const override;
  void load_state(const std::string& text) override;

  // What it would grow, and where, were it time to; nothing where no slot is free for a blueprint.
  std::optional<Germination> next_germination(const std::vector<leyline::SlotState>& slots) const;

 private:
  void watch_host(const leyline::Observation& observation, std::uint32_t epochs);
  void count_losses(const CareReport& report, const leyline::Observation& observation);
  void consider_germination(const leyline::Observation& observation, leyline::Decision& decision);
  base::Expected<void> check_time(const leyline::Observation& observation) const;
  const leyline::SlotState* choose_slot(const std::vector<leyline::SlotState>& slots) const;
  std::string choose_blueprint(const leyline::SlotState& slot) const;
  bool has_blueprint(const leyline::SlotState& slot) const { return !choose_blueprint(slot).empty(); }

  config::HeuristicConfig heuristic_;
  Horizon horizon_;
  SeedCare care_;
  HeuristicState state_;
};

}  // namespace esper::tamiyo
