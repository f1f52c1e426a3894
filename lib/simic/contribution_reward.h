#pragma once
// What a seed's contribution earns: the attribution term of the reference system's shaped contribution reward, for one
// epoch. Pure functions over plain data. Any thread.
//
// Everything is in percentage points of validation accuracy, the reward too; the term's weight is 1.
//   c  contribution: accuracy minus the accuracy with the seed's alpha forced to 0
//   p  progress: accuracy minus the accuracy when the seed was germinated
//   t  total improvement: accuracy minus the accuracy at the end of the first epoch that the seed lived through
//
//   attribution     c < 0: c        a seed that harms pays for all of it
//                   no baseline: c / 2
//                   p <= 0: 0       nothing was gained that could be shared out
//                   c >= p: sqrt(p c)
//                   else: c         the host did the rest
//   discount        c >= 0 and t < 0: 1 / (1 + exp(-3 t)); else 1
//   ratio penalty   c > 1 and t <= 0.1: -0.3 min(1, c / 10)
//                   c > 1 and c / t > 5: -min(0.3, 0.1 (c / t - 5) / 5)
//                   else 0
//   reward          discount * attribution + ratio penalty
//
// Decided here, where the reference leaves room: "improvement" of the penalty is t; a harm is never discounted, since
// that would pay for losing accuracy; discount and penalty add up where t is negative; where t is not known there is
// neither. Left out is the reference's branch for the epochs before blending (0.3 x positive accuracy delta): the
// formula above holds for every epoch whose contribution was measured, and others get no reward. A fossil gets no
// reward either: whoever adds up a seed's lifecycle asks for its growing epochs only. That a command may turn the sign
// (PRUNE) is the business of who rewards commands.

#include <optional>

namespace esper::simic {

struct ContributionFacts {
  double contribution_points = 0;
  double accuracy_points = 0;
  std::optional<double> accuracy_at_germination_points;  // none: germinated before anything was measured
  std::optional<double> accuracy_after_first_epoch_points;
};

struct ContributionReward {
  double attribution = 0, discount = 1, ratio_penalty = 0;
  double reward() const { return discount * attribution + ratio_penalty; }
};

// Every fact that is given is finite.
ContributionReward contribution_reward(const ContributionFacts& facts);

}  // namespace esper::simic
