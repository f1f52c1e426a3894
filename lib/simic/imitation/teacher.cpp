#include "simic/imitation/teacher.h"

#include <algorithm>

#include "tamiyo/service/replay.h"

namespace esper::simic {

using leyline::Decision;
using leyline::DecisionRecord;

namespace {

bool germinates(const Decision& decision) {
  return std::ranges::any_of(decision.commands, [](const leyline::AdaptationCommand& command) {
    return command.seed_operation && command.seed_operation->operation == leyline::SeedOperation::kGerminate;
  });
}

// The teacher's state afterwards is as if it had been kept from germinating.
void decide_without_germination(DecisionRecord record, leyline::Controller& teacher) {
  record.observation.germination_barred = "another policy decides";
  tamiyo::decide_instead(record, teacher);
}

std::optional<Decision> ask(const DecisionRecord& record, leyline::Controller& teacher) {
  const std::string before = teacher.save_state();
  auto decision = tamiyo::decide_instead(record, teacher).decision;
  if (decision && germinates(*decision) && !germinates(record.carried_out)) {
    teacher.load_state(before);
    decide_without_germination(record, teacher);
  }
  return decision;
}

std::optional<Decision> logged(const DecisionRecord& record) {
  return record.answer.outcome == "decided" ? std::optional(record.answer.decision) : std::nullopt;
}

}  // namespace

std::vector<std::optional<Decision>> answers_of_teacher(const history::DecisionLog& log, const std::string& teacher,
                                                        const MakeTeacher& make) {
  std::vector<std::optional<Decision>> answers;
  std::string state;  // of the teacher where it is asked again
  for (const auto& [record, process, line] : log.entries) {
    if (record.policy == teacher) {
      answers.push_back(logged(record));
      continue;
    }
    auto& asked = make(process);
    if (!state.empty()) asked.load_state(state);
    answers.push_back(ask(record, asked));
    state = asked.save_state();
  }
  return answers;
}

}  // namespace esper::simic
