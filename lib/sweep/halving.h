#pragma once
// Asynchronous successive halving (ASHA; Li, Jamieson, Rostamizadeh, Gonina, Hardt, Recht, Talwalkar: A System for
// Massively Parallel Hyperparameter Tuning, MLSys 2020, algorithm 2) as a function of what is known of a sweep's runs.
//
// Every configuration is trained for the epochs of rung 0. Of the n that have a result at a rung, the best n / factor
// (rounded down) may go on to the next, as soon as they are among them: nothing waits for the others. Who has reached
// its rung is paused, with a checkpoint, and remains so until it goes on; nothing is thrown away.
//
// Differs from the paper in three points: configurations are the sweep's, so new ones come to an end; a configuration's
// result is the mean of its seeds, and exists once all of them are there; the last rung is max_epochs, where the
// paper's is the largest min_epochs * factor^k below it. Any thread.

#include <cstddef>
#include <span>
#include <vector>

#include "sweep/progress.h"
#include "sweep/sweep.h"

namespace esper::sweep {

struct HalvingRules {
  std::vector<int> rungs;  // epochs at each, in all, ascending; at least one
  int factor = 3;
  Goal goal = Goal::kMaximize;
};
HalvingRules halving_rules(const Sweep& sweep);

// Configurations of which the best gets to the last rung.
std::size_t fewest_for_last_rung(const HalvingRules& rules);

struct HalvingDecision {
  enum class Kind {
    kPromote,    // resume all of its seeds from their checkpoints, with this number of epochs
    kStart,      // start all of its seeds
    kKeepPaused  // its checkpoints are kept: a later decision may promote it
  };
  Kind kind = Kind::kStart;
  std::size_t configuration = 0;
  std::size_t rung = 0;  // to reach; of kKeepPaused: reached
  int epochs = 0;        // of this rung, in all
  bool operator==(const HalvingDecision&) const = default;
};

// What to do now, most urgent first: promotions, from the highest rung down and at each the best first; new
// configurations in their order, together at most `most` of both; then all others that are paused below the last rung.
// A configuration with a failed seed is never promoted, and is the worst of all at the rung where it failed, so that it
// takes no other's place. Neither promotions nor starts, and none running: the sweep has ended. `progress`: of every
// configuration, in the order of configurations(). Equal results: the earlier one is better.
std::vector<HalvingDecision> decide(const HalvingRules& rules, std::span<const ConfigurationProgress> progress,
                                    std::size_t most);

}  // namespace esper::sweep
