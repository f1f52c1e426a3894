#include "tamiyo/periodic_plan.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json_fields.h"

namespace esper::tamiyo {

PlanAnswers PeriodicPlan::after(const Moment& moment) {
  const std::uint32_t periods = moment.epoch / every_epochs_;
  if (periods == moment.previous_epoch / every_epochs_) {
    return {
        base::failure(NoGermination{fmt::format("the next one is due after epoch {}", (periods + 1) * every_epochs_)})};
  }
  if (moment.room <= 0) return {base::failure(NoGermination{moment.why_full})};
  const auto wanted = next(moment.previous_epoch, moment.slots);
  if (!wanted) return {base::failure(NoGermination{kNoFreeSlot})};
  auto& visits = visits_[wanted->slot];
  ++visits.germinations;
  visits.last_epoch = moment.epoch;
  const auto reason =
      fmt::format("due every {} epochs; round robin, germination {} at this slot", every_epochs_, visits.germinations);
  return {PlannedGermination{*wanted, reason}};
}

std::optional<Germination> PeriodicPlan::next(std::uint32_t, const std::vector<leyline::SlotState>& slots) const {
  const auto visits_at = [&](const leyline::SlotState& slot) {
    const auto found = visits_.find(slot.slot);
    return found == visits_.end() ? Visits{} : found->second;
  };
  const leyline::SlotState* longest_ago = nullptr;
  for (const auto& slot : slots) {
    if (!is_free(slot)) continue;
    if (!longest_ago || visits_at(slot).last_epoch < visits_at(*longest_ago).last_epoch) longest_ago = &slot;
  }
  if (!longest_ago) return std::nullopt;
  const auto& blueprints = longest_ago->blueprints;
  return Germination{longest_ago->slot, blueprints[visits_at(*longest_ago).germinations % blueprints.size()]};
}

nlohmann::json PeriodicPlan::save() const {
  auto saved = nlohmann::json::object();
  for (const auto& [slot, visits] : visits_) {
    saved[slot] = {{"germinations", visits.germinations}, {"last_epoch", visits.last_epoch}};
  }
  return saved;
}

void PeriodicPlan::load(const nlohmann::json& saved) {
  std::map<std::string, Visits> read;
  for (const auto& [slot, visits] : saved.items()) {
    read[slot] = {base::whole_at<std::uint32_t>(visits, "germinations"),
                  base::whole_at<std::uint32_t>(visits, "last_epoch")};
  }
  visits_ = std::move(read);
}

}  // namespace esper::tamiyo
