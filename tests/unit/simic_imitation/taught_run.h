#pragma once
// Logs of decisions in memory, and lessons as are made of them.

#include <string>

#include "history/growth/decision_log.h"
#include "leyline/seed_command.h"
#include "simic/imitation/lesson.h"
#include "tamiyo/network/sample_graphs.h"
#include "unit/tamiyo/observed.h"

namespace esper::simic {

inline leyline::AdaptationCommand germinate(const std::string& slot, const std::string& blueprint) {
  return leyline::germination({}, slot, blueprint);
}

// After an epoch with two free slots, r0c1 and r0c2, where lora and norm fit, and a seed that trains at r0c0.
inline leyline::Observation observed_after(std::uint32_t epoch) {
  auto seen = tamiyo::observed_many(1, 2);
  seen.current_epoch = epoch;
  seen.validation_accuracy = 0.5 + 0.01 * epoch;
  return seen;
}

inline history::DecisionEntry entry_after(std::uint32_t epoch, const std::vector<leyline::AdaptationCommand>& commands,
                                          const std::string& policy = "heuristic") {
  history::DecisionEntry entry;
  entry.record.observation = observed_after(epoch);
  entry.record.policy = policy;
  entry.record.answer.outcome = "decided";
  entry.record.answer.decision.commands = commands;
  entry.record.carried_out = entry.record.answer.decision;
  return entry;
}

inline history::DecisionLog log_of(std::vector<history::DecisionEntry> entries) {
  history::DecisionLog log;
  log.processes.emplace_back().policy = "heuristic";
  log.entries = std::move(entries);
  return log;
}

// A graph with two seed nodes and two blueprint nodes. What the teacher does shows in one feature of the global node:
// it germinates where that is above 0, the second blueprint at the second slot.
inline Lesson simple_lesson(std::size_t number) {
  using tamiyo::Action;
  Lesson lesson;
  lesson.graph = tamiyo::random_graph({{1, 2, 2, 2, 1, 1}, 0.8}, number + 1);
  const bool germinates = number % 4 == 0;
  for (int column = 0; column < 4; ++column) {
    lesson.graph.nodes[0].features[static_cast<std::size_t>(column)] = germinates ? 1.0F : -1.0F;
  }
  for (const std::size_t type : {std::size_t{1}, std::size_t{2}}) {
    const auto columns = static_cast<std::size_t>(tamiyo::kNodeFeatures[type]);
    lesson.graph.nodes[type].features[0] = -1;
    lesson.graph.nodes[type].features[columns] = 1;
  }
  lesson.epoch = static_cast<std::uint32_t>(number);
  auto& target = lesson.target;
  target.possible = {Action::kWait, Action::kGerminate, Action::kCull};
  target.risk = 0;
  target.value = 0.1F;
  if (!germinates) return lesson;
  target.action = Action::kGerminate;
  target.slots = target.blueprints = {0, 1};
  target.slot = target.blueprint = 1;
  return lesson;
}

inline std::vector<Lesson> simple_lessons(std::size_t count) {
  std::vector<Lesson> lessons;
  for (std::size_t i = 0; i < count; ++i) lessons.push_back(simple_lesson(i));
  return lessons;
}

inline std::vector<const Lesson*> pointers_to(const std::vector<Lesson>& lessons) {
  std::vector<const Lesson*> all;
  for (const Lesson& lesson : lessons) all.push_back(&lesson);
  return all;
}

}  // namespace esper::simic
