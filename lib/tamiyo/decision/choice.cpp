#include "tamiyo/decision/choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/entries/slot_alpha.h"
#include "tamiyo/decision/draw.h"

namespace esper::tamiyo {
namespace {

using Scores = std::span<const float>;

base::Expected<void> check_finite(std::string_view name, Scores scores) {
  const auto wrong = std::ranges::find_if_not(scores, [](float score) { return std::isfinite(score); });
  if (wrong == scores.end()) return {};
  return base::failure(fmt::format("{}[{}] of the network's outputs is {}", name, wrong - scores.begin(), *wrong));
}

base::Expected<void> check_count(std::string_view name, std::size_t scores, std::size_t candidates) {
  if (scores == candidates) return {};
  return base::failure(fmt::format("the network made {} {} for {} candidates", scores, name, candidates));
}

// `rows` is not empty.
template <class NameOf>
int highest(const std::vector<int>& rows, Scores scores, const Draw& draw, NameOf name_of) {
  const auto noisy = [&](int row) { return scores[static_cast<std::size_t>(row)] + draw.noise(name_of(row)); };
  return *std::ranges::max_element(rows, {}, noisy);
}

std::vector<double> softmax(Scores logits) {
  const double top = *std::ranges::max_element(logits);
  std::vector<double> shares;
  for (const float logit : logits) shares.push_back(std::exp(logit - top));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<int> possible_actions(const Masks& masks) {
  std::vector<int> actions;
  for (const auto& row : kActionTable) {
    if (masks.allows(row.action)) actions.push_back(static_cast<int>(row.action));
  }
  return actions;
}

double probability_of(Action action, const std::vector<int>& possible, Scores logits) {
  std::vector<float> of_possible;
  for (const int one : possible) of_possible.push_back(logits[static_cast<std::size_t>(one)]);
  const auto place = std::ranges::find(possible, static_cast<int>(action)) - possible.begin();
  return softmax(of_possible)[static_cast<std::size_t>(place)];
}

void choose_germination(const PolicyOutputs& outputs, const Candidates& candidates, const Draw& draw, Choice& choice) {
  constexpr auto kCurves = names(config::AlphaCurve{});
  static_assert(kCurves.size() == kBlendingMethods);
  const auto& slot = candidates.seeds[static_cast<std::size_t>(choice.seed)].slot;
  choice.blueprint = highest(
      candidates.fits[static_cast<std::size_t>(choice.seed)], outputs.blueprint_scores, draw,
      [&](int row) { return fmt::format("{}={}", slot, candidates.blueprints[static_cast<std::size_t>(row)]); });
  const auto name_of_curve = [&](int curve) { return kCurves[static_cast<std::size_t>(curve)].second; };
  choice.blend = blend_of(outputs, highest({0, 1, 2}, outputs.blending_logits, draw, name_of_curve));
  choice.assessment.blueprint_index = choice.blueprint;
  choice.assessment.blending = leyline::Assessment::Blending{name_of_curve(choice.blend.curve), choice.blend.curve,
                                                             outputs.schedule[0], outputs.schedule[1]};
}

void choose_target(const PolicyOutputs& outputs, const Candidates& candidates, const std::vector<int>& targets,
                   const Draw& draw, Choice& choice) {
  choice.seed = highest(targets, outputs.seed_scores, draw, [&](int row) {
    const auto& candidate = candidates.seeds[static_cast<std::size_t>(row)];
    return candidate.seed_id.empty() ? candidate.slot : candidate.seed_id;
  });
  choice.assessment.seed_index = choice.seed;
  choice.assessment.seed_score = outputs.seed_scores[static_cast<std::size_t>(choice.seed)];
}

}  // namespace

base::Expected<void> check_outputs(const PolicyOutputs& outputs, const Candidates& candidates) {
  const float value[] = {outputs.value};
  const std::pair<std::string_view, Scores> all[] = {
      {"policy_logits", outputs.policy_logits},       {"policy_params", outputs.policy_params},
      {"blending_logits", outputs.blending_logits},   {"schedule", outputs.schedule},
      {"risk_logits", outputs.risk_logits},           {"value", value},
      {"breaker_logits", outputs.breaker_logits},     {"seed_scores", outputs.seed_scores},
      {"blueprint_scores", outputs.blueprint_scores},
  };
  for (const auto& [name, scores] : all) {
    if (auto finite = check_finite(name, scores); !finite) return finite;
  }
  if (auto seeds = check_count("seed_scores", outputs.seed_scores.size(), candidates.seeds.size()); !seeds) {
    return seeds;
  }
  return check_count("blueprint_scores", outputs.blueprint_scores.size(), candidates.blueprints.size());
}

BlendChoice blend_of(const PolicyOutputs& outputs, int curve) {
  constexpr double kLeast = config::SlotAlpha::kLeastTarget;
  constexpr double kHundred = 100;
  const double length = std::clamp<double>(outputs.schedule[1] - outputs.schedule[0], 0, 1);
  const double param = std::clamp<double>(outputs.policy_params[0], -1, 0);
  const double target = std::round((1 + param * (1 - kLeast)) * kHundred) / kHundred;
  return {curve, 1 + static_cast<int>(std::lround(length * (kMostBlendTicks - 1))), std::clamp(target, kLeast, 1.0)};
}

double risk_of(const PolicyOutputs& outputs) {
  const auto shares = softmax(outputs.risk_logits);
  double level = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) level += static_cast<double>(i) * shares[i];
  return level / (kRiskLevels - 1);
}

Masks possible_masks(const Candidates& candidates, const leyline::Observation& observation,
                     const ChoiceSettings& settings) {
  Masks masks = masks_of(candidates, observation, settings.max_seeds);
  for (const Action action : settings.withheld) masks.targets[static_cast<std::size_t>(action)].clear();
  return masks;
}

base::Expected<Choice> choose(const PolicyOutputs& outputs, const Candidates& candidates,
                              const leyline::Observation& observation, const ChoiceSettings& settings) {
  if (const auto usable = check_outputs(outputs, candidates); !usable) return base::failure(usable.error());
  const Draw draw(settings.seed, observation.current_epoch, settings.temperature);
  const Masks masks = possible_masks(candidates, observation, settings);
  const auto possible = possible_actions(masks);
  Choice choice;
  choice.assessment.value = outputs.value;
  choice.assessment.risk = risk_of(outputs);
  choice.assessment.risk_index =
      static_cast<int>(std::ranges::max_element(outputs.risk_logits) - outputs.risk_logits.begin());
  choice.action = static_cast<Action>(highest(possible, outputs.policy_logits, draw, [](int action) {
    return kActionTable[static_cast<std::size_t>(action)].name;
  }));
  choice.probability = probability_of(choice.action, possible, outputs.policy_logits);
  if (choice.action == Action::kWait) return choice;
  choose_target(outputs, candidates, masks.targets_of(choice.action), draw, choice);
  if (choice.action == Action::kGerminate) choose_germination(outputs, candidates, draw, choice);
  return choice;
}

}  // namespace esper::tamiyo
