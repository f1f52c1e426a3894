#pragma once
// From the logs of decisions of whole runs to lessons. Pure functions.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "history/growth/decision_log.h"
#include "simic/imitation/lesson.h"
#include "tamiyo/graph/normaliser.h"

namespace esper::simic {

// How the policy network would have been asked in a run.
struct SightSettings {
  int max_seeds = 1;       // growth.max_seeds
  bool see_times = false;  // policy.gnn.see_times
};
// By place in DecisionLog::processes.
using SightOf = std::function<SightSettings(std::size_t process)>;

struct TaughtRun {
  const history::DecisionLog& log;
  SightOf sight;
  // Parallel to the log's entries (teacher.h).
  const std::vector<std::optional<leyline::Decision>>& answers;
};

struct Lessons {
  std::vector<Lesson> lessons;
  std::size_t unanswered = 0;         // decisions that the teacher has not made
  std::vector<std::string> left_out;  // "epoch 12: ...": decisions that the network cannot make
};

// The moments of all values in these runs, each observation's counting alike; the prior where there is none.
tamiyo::Normaliser normaliser_over(const std::vector<TaughtRun>& runs);

// normaliser: that the run begins with. run: its number in the lessons.
Lessons lessons_of(const TaughtRun& taught, tamiyo::Normaliser normaliser, std::size_t run);

}  // namespace esper::simic
