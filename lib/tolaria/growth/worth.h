#pragma once
// The running network's validation compared with the controls of its seeds, sample by sample. Training thread.

#include <map>
#include <string>

#include "kasmina/network.h"
#include "leyline/seed_worth.h"
#include "tolaria/state/control_record.h"

namespace esper::tolaria {

// The seeds whose presence, stage or alpha differs between a control and the run make the comparison one of more than
// the seed in question: "seed-0001 FOSSILIZED 1; seed-0002 BLENDING 0.5". `but`: a seed that is left out.
std::string describe_seeds(const kasmina::Network& network, const std::string& but = {});

// An epoch of the running network, as a control has it.
struct RunningEpoch {
  const SampleFigures& samples;
  double learning_rate = 0;  // the run's, of the last step
};

// Compares it with each seed's control, and returns the worth of those that were, by seed id. Call before the network
// applies the epoch. Controls with nothing left to compare are dropped: whose last epoch was compared, whose seed is no
// longer growing, or from which the run differs by more than the seed: other seeds, or another learning rate
// (confounded).
std::map<std::string, leyline::SeedWorth> compare_with_controls(ControlRecord& record, const kasmina::Network& network,
                                                                const RunningEpoch& running);

// Of the epochs compared so far.
leyline::SeedWorth worth_of(const SeedControl& control);

}  // namespace esper::tolaria
