#pragma once
// What a growing seed needs next, judged by its stage and its measurements alone. Pure functions. Any thread.

#include <optional>
#include <span>
#include <string>

#include "config/growth_config.h"
#include "config/policy_config.h"
#include "leyline/command.h"
#include "leyline/seed.h"
#include "leyline/validation_change.h"

namespace esper::tamiyo {

struct Rules {
  config::HeuristicConfig heuristic;
  config::GateConfig gates;
  config::SeedTraining training = config::SeedTraining::kBlended;
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

// How validation changed over the last epochs: Observation::validation_changes.
using Changes = std::span<const leyline::ValidationChange>;

// Whether the last of `epochs` epochs brought the seed something new, that many after the last that did. In TRAINING
// with alpha > 0: the loss over these epochs is shown to be lower than before. Else what it is judged by exceeds `best`
// by more than the measurement's half width, or at all where that is not known.
bool has_improved(const leyline::SeedState& seed, std::optional<double> best, std::uint32_t epochs, Changes changes);

// Why the seed should be removed; empty if it may stay. By growth.gates.evidence it goes (control) when all that can be
// compared was and did not show the worth that a gate ahead asks for; while a later epoch will be compared nothing
// prunes it; (ablation) at a drop of prune_drop_points with alpha > 0 (BLENDING on, and a blended seed in TRAINING;
// while alpha is 0 a drop is not its doing) that is shown at 95 %: in PROBATIONARY by its contribution's interval,
// before by the loss since its stage began, whose rise exceeds what epochs differ by anyway; without figures of the
// samples the drop alone decides; (none) never. prune_after_epochs without an improvement prunes it once it has had the
// epochs that its gate wants; a blend under way is never stale.
std::string prune_reason(const leyline::SeedState& seed, std::uint32_t stale_epochs, const Rules& rules,
                         Changes changes = {});

// "0.5", "12", "-1.25"
std::string number(double value);

}  // namespace esper::tamiyo
