#pragma once
// policy.kind random: after each epoch, with policy.random.probability, one seed of a random blueprint at a random free
// slot. Every random number is a pure function of the seed, the epoch and a name: there is no state, so a resumed run
// and a fork repeat it.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/policy_config.h"
#include "tamiyo/plan.h"

namespace esper::tamiyo {

class RandomPlan {
 public:
  static constexpr char kName[] = "random";

  RandomPlan(const config::RandomConfig& config, std::uint64_t run_seed);

  PlanAnswers after(const Moment& moment) const;
  // The seed that it germinates next if these slots are free then. Nothing where no epoch is drawn for very long.
  std::optional<Germination> next(std::uint32_t previous_epoch, const std::vector<leyline::SlotState>& slots) const;

 private:
  std::uint64_t bits(std::uint32_t epoch, std::string_view name) const;
  double drawn(std::uint32_t epoch) const;  // uniform over [0, 1)
  std::optional<Germination> choose(std::uint32_t epoch, const std::vector<leyline::SlotState>& slots) const;

  double probability_;
  std::uint64_t key_;
};

}  // namespace esper::tamiyo
