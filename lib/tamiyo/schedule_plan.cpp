#include "tamiyo/schedule_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/text/joined.h"
#include "leyline/blueprint/blueprint_name.h"

namespace esper::tamiyo {

using leyline::SlotState;

namespace {

// That it can germinate there now.
base::Expected<void> check_slot(const Germination& what, const std::vector<SlotState>& slots) {
  const auto slot = std::ranges::find(slots, what.slot, &SlotState::slot);
  if (slot == slots.end()) return base::failure("there is no slot " + what.slot);
  if (slot->stage != leyline::Stage::kDormant) {
    return base::failure(fmt::format("{} is not free but {}", what.slot, base::name_of(slot->stage)));
  }
  if (std::ranges::find(slot->blueprints, leyline::without_copies(what.blueprint)) == slot->blueprints.end()) {
    return base::failure(fmt::format("{} can grow {} and not {}", what.slot,
                                     slot->blueprints.empty() ? "nothing" : base::joined(slot->blueprints),
                                     what.blueprint));
  }
  return {};
}

}  // namespace

SchedulePlan::SchedulePlan(const std::vector<config::Entry<config::ScheduledGermination>>& lines, int epochs) {
  for (const auto& line : lines) {
    const auto name = leyline::BlueprintName::parse(line->blueprint);
    lines_.push_back({static_cast<std::uint32_t>(line->due_epoch(epochs)),
                      {line->slot, name ? name->text() : line->blueprint},  // as the seed will be reported
                      line.text()});
  }
  std::ranges::stable_sort(lines_, {}, &Line::epoch);
}

PlanAnswers SchedulePlan::after(const Moment& moment) const {
  PlanAnswers answers;
  std::set<std::string> taken;
  for (const Line& line : lines_) {
    if (line.epoch <= moment.previous_epoch || line.epoch > moment.epoch) continue;
    auto possible = check_slot(line.what, moment.slots);
    if (possible && taken.contains(line.what.slot)) possible = base::failure(line.what.slot + " was just taken");
    if (possible && static_cast<int>(taken.size()) >= moment.room) possible = base::failure(moment.why_full);
    if (!possible) {
      answers.push_back(base::failure(NoGermination{
          fmt::format("\"{}\" is due, but {}; it is not tried again", line.text, possible.error()), true}));
      continue;
    }
    taken.insert(line.what.slot);
    answers.push_back(PlannedGermination{line.what, fmt::format("\"{}\" of the schedule is due", line.text)});
  }
  if (answers.empty()) answers.push_back(base::failure(NoGermination{until_next(moment.epoch)}));
  return answers;
}

std::string SchedulePlan::until_next(std::uint32_t epoch) const {
  const auto line = std::ranges::find_if(lines_, [&](const Line& one) { return one.epoch > epoch; });
  if (line == lines_.end()) return "no line of the schedule is left";
  return fmt::format("the next line of the schedule is due after epoch {}", line->epoch);
}

std::vector<Germination> SchedulePlan::next(std::uint32_t previous_epoch, const std::vector<SlotState>& slots) const {
  std::vector<Germination> all;
  std::uint32_t due = 0;
  for (const Line& line : lines_) {
    if (line.epoch <= previous_epoch || !check_slot(line.what, slots)) continue;
    if (due != 0 && line.epoch != due) break;
    due = line.epoch;
    const bool is_taken = std::ranges::find(all, line.what.slot, &Germination::slot) != all.end();
    if (!is_taken) all.push_back(line.what);
  }
  return all;
}

}  // namespace esper::tamiyo
