#pragma once
// Which of two lanes is faster on the real step: three times twenty steps of each, taking turns. Plain data; any
// thread.

#include <array>
#include <vector>

#include "base/clock.h"

namespace esper::program {

enum class Contender { kIncumbent, kChallenger };

// Every step of training that passes while the trial runs is one of its measurements: none is run for it alone.
class Trial {
 public:
  static constexpr int kRounds = 3, kStepsPerTurn = 20;

  // Who runs the next step.
  Contender turn() const;
  // The step took so long.
  void note(base::Duration duration);
  bool done() const { return times_[0].size() + times_[1].size() == 2 * kRounds * kStepsPerTurn; }

  // Medians over all steps of each.
  base::Duration median(Contender contender) const;
  // How many times faster the challenger is; above 1 it wins.
  double speedup() const;

 private:
  std::array<std::vector<base::Duration>, 2> times_;
};

}  // namespace esper::program
