#pragma once
// policy.kind periodic: every policy.periodic.every_epochs epochs one seed, at the free slot whose last germination is
// longest ago (round robin while all are free; the first ones in the host's order), with the slot's next blueprint.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/policy_config.h"
#include "tamiyo/plan.h"

namespace esper::tamiyo {

class PeriodicPlan {
 public:
  static constexpr char kName[] = "periodic";

  explicit PeriodicPlan(const config::PeriodicConfig& config)
      : every_epochs_(static_cast<std::uint32_t>(config.every_epochs)) {}

  PlanAnswers after(const Moment& moment);
  // The seed that it germinates next if these slots are free then.
  std::optional<Germination> next(std::uint32_t previous_epoch, const std::vector<leyline::SlotState>& slots) const;

  nlohmann::json save() const;
  // Throws nlohmann::json::exception for what save() did not make.
  void load(const nlohmann::json& saved);

 private:
  struct Visits {
    std::uint32_t germinations = 0, last_epoch = 0;
  };

  std::uint32_t every_epochs_;
  std::map<std::string, Visits> visits_;  // by slot
};

}  // namespace esper::tamiyo
