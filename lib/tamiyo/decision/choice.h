#pragma once
// From the network's outputs to one choice. Pure functions.

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "leyline/assessment.h"
#include "leyline/observation.h"
#include "tamiyo/decision/action_table.h"
#include "tamiyo/decision/masks.h"
#include "tamiyo/graph/candidates.h"
#include "tamiyo/graph/policy_outputs.h"

namespace esper::tamiyo {

// The blend of a new seed: parameters of GERMINATE, within their legal ranges (docs/growth.md).
struct BlendChoice {
  int curve = 0;      // 0 linear, 1 cosine, 2 sigmoid
  int ticks = 1;      // epochs, 1 to kMostBlendTicks
  double target = 1;  // 0.05 to 1, in hundredths
  bool operator==(const BlendChoice&) const = default;
};
inline constexpr int kMostBlendTicks = 8;

struct Choice {
  Action action = Action::kWait;
  double probability = 1;  // of the action, among those that are possible
  int seed = -1;           // row of Candidates::seeds; -1: the action has none
  int blueprint = -1;      // row of Candidates::blueprints; -1: the action has none
  BlendChoice blend;       // of GERMINATE
  leyline::Assessment assessment;
};

struct ChoiceSettings {
  std::uint64_t seed = 0;             // of the run
  double temperature = 0;             // of the sampling; 0 chooses the highest score
  int max_seeds = 1;                  // growth.max_seeds
  std::vector<Action> withheld = {};  // never chosen: somebody else's
};

// What is possible now, but for what is withheld.
Masks possible_masks(const Candidates& candidates, const leyline::Observation& observation,
                     const ChoiceSettings& settings);

// Fails, with the name of what is wrong, where an output is not finite or the scores do not match the candidates:
// then there is no decision.
base::Expected<void> check_outputs(const PolicyOutputs& outputs, const Candidates& candidates);

// Fails as check_outputs() does. Of equal scores the first is chosen.
base::Expected<Choice> choose(const PolicyOutputs& outputs, const Candidates& candidates,
                              const leyline::Observation& observation, const ChoiceSettings& settings);

// The schedule's length becomes the ticks; a first policy parameter of 0 or more asks for the whole of the seed, one of
// -1 for the least target.
BlendChoice blend_of(const PolicyOutputs& outputs, int curve);

// 0..1: the mean level of risk by the softmax of its logits, over the highest level.
double risk_of(const PolicyOutputs& outputs);

}  // namespace esper::tamiyo
