#pragma once
// What a growing seed needs next, judged by its stage and its measurements alone. Pure functions. Any thread.

#include <optional>
#include <string>

#include "config/growth_config.h"
#include "config/policy_config.h"
#include "leyline/command.h"
#include "leyline/seed.h"

namespace esper::tamiyo {

struct Rules {
  config::HeuristicConfig heuristic;
  config::GateConfig gates;
  config::SeedTraining training = config::SeedTraining::kBlended;
  int epochs = 0;  // of the run; 0: not known
};

// What a seed of this stage is judged by, in accuracy points: improvement while TRAINING and BLENDING, the full-alpha
// trial while SHADOWING, contribution while PROBATIONARY. GERMINATED has nothing to show.
std::optional<double> judged_points(const leyline::SeedState& seed);

struct NextStep {
  std::optional<leyline::SeedOperation> operation;  // nothing: wait
  std::string reason;
};

// The step to the next stage, commanded only once the seed meets the thresholds of the stage's gate, or waiting with a
// reason.
NextStep next_step(const leyline::SeedState& seed, const Rules& rules);

// Why the seed should be removed; empty if it may stay. By growth.gates.evidence it goes (control) when all that can be
// compared was and did not show the worth that gate G5 asks for; while a later epoch will be compared nothing prunes
// it; (ablation) at a drop of prune_drop_points with alpha > 0 (BLENDING on; in TRAINING its alpha is 0 and a drop is
// not its doing), at once; (none) never. prune_after_epochs without a new best prunes it once it has had the epochs
// that its gate wants; a blend under way is never stale.
std::string prune_reason(const leyline::SeedState& seed, std::uint32_t stale_epochs, const Rules& rules);

// Why the seed should be removed after the run's last epoch: the network that is left holds nothing that does nothing.
// Empty before, and for a seed that is heard.
std::string idle_at_the_end(const leyline::SeedState& seed, std::uint32_t epoch, const Rules& rules);

// "0.5", "12", "-1.25"
std::string number(double value);

}  // namespace esper::tamiyo
