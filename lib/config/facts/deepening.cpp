#include "config/facts/deepening.h"

#include <fmt/core.h>

#include <algorithm>

#include "config/facts/data_facts.h"
#include "leyline/blueprint/blueprint_name.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::config {

std::string copied_blueprint(DeepenForm form) {
  return form == DeepenForm::kIdentity ? "copy_block" : "copy_block_plain";
}

std::vector<SlotGeometry> deepened_slots(const RunConfig& config) {
  const auto& named = config.growth.slots;
  std::vector<SlotGeometry> slots;
  for (auto& slot : slot_geometry(config.host, known_sample(config.data), named)) {
    const auto* copy = leyline::find_blueprint_facts(copied_blueprint(config.growth.deepen.form), slot.shape.kind);
    const bool is_included = may_grow_at(named, slot.id);
    if (is_included && copy != nullptr && leyline::may_fit(*copy, slot.shape)) slots.push_back(std::move(slot));
  }
  return slots;
}

std::vector<Entry<ScheduledGermination>> scheduled_germinations(const RunConfig& config) {
  auto lines = config.policy.schedule;
  if (config.growth.kind != GrowthKind::kDeepen) return lines;
  const DeepenConfig& deepen = config.growth.deepen;
  const leyline::BlueprintName copies{copied_blueprint(deepen.form), deepen.copies};
  for (const auto& slot : deepened_slots(config)) {
    lines.emplace_back(fmt::format("{}:{}={}", deepen.at, slot.id, copies.text()));
  }
  return lines;
}

}  // namespace esper::config
