#include "tamiyo/random_plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.h"

namespace esper::tamiyo {

using base::fnv1a;
using base::mix64;

RandomPlan::RandomPlan(const config::RandomConfig& config, std::uint64_t run_seed)
    : probability_(config.probability),
      key_(mix64(mix64(config.seed == 0 ? run_seed : config.seed) ^ fnv1a("tamiyo.random"))) {}

PlanAnswers RandomPlan::after(const Moment& moment) const {
  const auto draw = fmt::format("{:.4f} was drawn for epoch {}, policy.random.probability is {:.4g}",
                                drawn(moment.epoch), moment.epoch, probability_);
  if (drawn(moment.epoch) >= probability_) return {base::failure(NoGermination{draw})};
  if (moment.room <= 0) return {base::failure(NoGermination{moment.why_full})};
  const auto chosen = choose(moment.epoch, moment.slots);
  if (!chosen) return {base::failure(NoGermination{kNoFreeSlot})};
  return {PlannedGermination{*chosen, draw}};
}

std::optional<Germination> RandomPlan::next(std::uint32_t previous_epoch,
                                            const std::vector<leyline::SlotState>& slots) const {
  constexpr std::uint32_t kLookAhead = 1000;  // epochs
  for (std::uint32_t epoch = previous_epoch + 1; epoch <= previous_epoch + kLookAhead; ++epoch) {
    if (drawn(epoch) < probability_) return choose(epoch, slots);
  }
  return std::nullopt;
}

std::uint64_t RandomPlan::bits(std::uint32_t epoch, std::string_view name) const {
  return mix64(mix64(key_ ^ epoch) ^ fnv1a(name));
}

double RandomPlan::drawn(std::uint32_t epoch) const {
  constexpr int kSpareBits = 64 - 53;  // a double holds 53
  return static_cast<double>(bits(epoch, "") >> kSpareBits) * 0x1p-53;
}

// Each name has a random number of its own, and the largest wins: equally likely, and the choice does not change when a
// slot that did not win is taken.
std::optional<Germination> RandomPlan::choose(std::uint32_t epoch, const std::vector<leyline::SlotState>& slots) const {
  const leyline::SlotState* slot = nullptr;
  for (const auto& candidate : slots) {
    if (!is_free(candidate)) continue;
    if (!slot || bits(epoch, candidate.slot) > bits(epoch, slot->slot)) slot = &candidate;
  }
  if (!slot) return std::nullopt;
  const auto blueprint = std::ranges::max_element(
      slot->blueprints, {}, [&](const std::string& name) { return bits(epoch, slot->slot + "=" + name); });
  return Germination{slot->slot, *blueprint};
}

}  // namespace esper::tamiyo
