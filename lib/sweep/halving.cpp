#include "sweep/halving.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace esper::sweep {
namespace {

using Kind = HalvingDecision::Kind;

bool has_failed_seed(const ConfigurationProgress& progress) {
  return std::ranges::any_of(progress.seeds,
                             [](const SeedProgress& seed) { return seed.state == SeedProgress::State::kFailed; });
}

// With a result that is a number at the rung that it was to reach.
bool is_paused(const ConfigurationProgress& progress) {
  const auto result = rung_result(progress, progress.rung);
  return result && !std::isnan(*result) && !has_failed_seed(progress);
}

// By which it is ranked among those at the rung. One that does not go on from there is the worst, whatever it reached:
// its place is the next one's.
std::optional<double> ranked_result(const ConfigurationProgress& progress, std::size_t rung) {
  const auto result = rung_result(progress, rung);
  if (result && rung == progress.rung && has_failed_seed(progress)) return std::numeric_limits<double>::quiet_NaN();
  return result;
}

struct Ranked {
  std::size_t configuration;
  double result;
};

// The configurations with a result at the rung, the best first.
std::vector<Ranked> ranking_at(std::size_t rung, std::span<const ConfigurationProgress> progress, Goal goal) {
  std::vector<Ranked> ranking;
  for (std::size_t i = 0; i < progress.size(); ++i) {
    if (const auto result = ranked_result(progress[i], rung)) ranking.push_back({i, *result});
  }
  std::ranges::stable_sort(ranking,
                           [&](const Ranked& a, const Ranked& b) { return is_better(a.result, b.result, goal); });
  return ranking;
}

}  // namespace

HalvingRules halving_rules(const Sweep& sweep) {
  const HalvingConfig& config = sweep.settings.halving;
  ESPER_CHECK(config.min_epochs >= 1 && config.factor >= 2, "halving without an end");
  HalvingRules rules{{config.min_epochs}, config.factor, sweep.settings.goal};
  while (rules.rungs.back() <= config.max_epochs / config.factor) {
    rules.rungs.push_back(rules.rungs.back() * config.factor);
  }
  rules.rungs.back() = std::max(rules.rungs.back(), config.max_epochs);
  return rules;
}

std::size_t fewest_for_last_rung(const HalvingRules& rules) {
  std::size_t fewest = 1;
  for (std::size_t rung = 1; rung < rules.rungs.size(); ++rung) fewest *= static_cast<std::size_t>(rules.factor);
  return fewest;
}

std::vector<HalvingDecision> decide(const HalvingRules& rules, std::span<const ConfigurationProgress> progress,
                                    std::size_t most) {
  ESPER_CHECK(!rules.rungs.empty() && rules.factor >= 2, "halving without rungs");
  std::vector<HalvingDecision> decisions, kept;
  for (std::size_t rung = rules.rungs.size() - 1; rung-- > 0;) {
    const auto ranking = ranking_at(rung, progress, rules.goal);
    const std::size_t promoted = ranking.size() / static_cast<std::size_t>(rules.factor);
    for (std::size_t place = 0; place < ranking.size(); ++place) {
      const std::size_t one = ranking[place].configuration;
      if (progress[one].rung != rung || !is_paused(progress[one])) continue;
      if (place < promoted && decisions.size() < most) {
        decisions.push_back({Kind::kPromote, one, rung + 1, rules.rungs[rung + 1]});
      } else {
        kept.push_back({Kind::kKeepPaused, one, rung, rules.rungs[rung]});
      }
    }
  }
  for (std::size_t i = 0; i < progress.size() && decisions.size() < most; ++i) {
    if (progress[i].seeds.empty()) decisions.push_back({Kind::kStart, i, 0, rules.rungs.front()});
  }
  decisions.insert(decisions.end(), kept.begin(), kept.end());
  return decisions;
}

}  // namespace esper::sweep
